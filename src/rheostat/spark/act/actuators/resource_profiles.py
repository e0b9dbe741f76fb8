"""Resource profiles: one for each site of a pool, so that executors can be requested for it alone."""

from typing import Any

from pyspark.resource import ExecutorResourceRequests, ResourceProfile, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.cluster.node import resource_of
from rheostat.spark.state.executor_book import PoolSite

_ANY_NUMBER_OF_TASKS = 0.001
"""Spark wants every resource of an executor used by its tasks; this share of it never limits them."""


class ResourceProfiles:
    """The profiles of an application's pools by site. A site that comes back has the profile it had before.

    Executors have the memory of the session's executors, and as many cores unless `cores` says otherwise.
    """

    def __init__(self, spark: SparkSession, allocation: AllocationClient, cores: int | None = None) -> None:
        self._spark, self._allocation, self._cores = spark, allocation, cores
        self._profiles: dict[PoolSite, ResourceProfile] = {}

    def __getitem__(self, site: PoolSite) -> ResourceProfile:
        return self._profiles[site]

    @property
    def ids(self) -> dict[PoolSite, int]:
        return {site: profile.id for site, profile in self._profiles.items()}

    def create(self, site: PoolSite) -> ResourceProfile:
        if site not in self._profiles:
            profile = _profile(self._spark, self._cores, site.node)
            java: Any = profile._java_resource_profile
            self._allocation.register(java)
            self._profiles[site] = profile
        return self._profiles[site]


def _profile(spark: SparkSession, cores: int | None, node: str | None) -> ResourceProfile:
    """A new profile; with `node` its executors run only where a node has that name or label."""
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
