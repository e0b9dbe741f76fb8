"""What an executor of a pool has: cores and memory, and the node it must be on if it must."""

from pyspark.resource import ExecutorResourceRequests, ResourceProfile, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

from rheostat.spark.cluster.node import resource_of

_ANY_NUMBER_OF_TASKS = 0.001
"""Spark wants every resource of an executor used by its tasks; so little of it never limits them."""


def pool_profile(spark: SparkSession, *, cores: int | None = None, node: str | None = None) -> ResourceProfile:
    """A new resource profile, never one that another pool has: what differs is who asks for its executors.

    Without `cores` an executor has as many as the session's executors have. With `node` it runs only where a
    node has that name or label.
    """
    conf = spark.sparkContext.getConf()
    executor = ExecutorResourceRequests().cores(cores or int(conf.get("spark.executor.cores", "1") or 1))
    executor = executor.memory(conf.get("spark.executor.memory", "1g") or "1g")
    if overhead := conf.get("spark.executor.memoryOverhead"):
        executor = executor.memoryOverhead(overhead)
    task = TaskResourceRequests().cpus(1)
    if node is not None:
        executor = executor.resource(resource_of(node), 1)
        task = task.resource(resource_of(node), _ANY_NUMBER_OF_TASKS)
    return ResourceProfileBuilder().require(executor).require(task).build
