"""Resource profiles: one for each site of a pool, so that executors can be requested for it alone."""

from dataclasses import dataclass
from typing import Any

from pyspark.resource import ExecutorResourceRequests, ResourceProfile, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.cluster.node import resource_of
from rheostat.spark.state.executor_book import PoolSite

_ANY_NUMBER_OF_TASKS = 0.001
"""Spark wants every resource of an executor used by its tasks; this share of it never limits them."""


@dataclass(frozen=True, slots=True)
class ExecutorSize:
    """What one executor takes."""

    cores: int
    memory_mb: int

    def __str__(self) -> str:
        return f"{self.cores} core{'' if self.cores == 1 else 's'} and {self.memory_mb} MiB"


def executor_size(spark: SparkSession, cores: int | None = None) -> ExecutorSize:
    """The memory of the session's executors, and their cores unless `cores` says otherwise."""
    conf = spark.sparkContext.getConf()
    jvm: Any = spark.sparkContext._jvm
    memory_mb = jvm.org.apache.spark.network.util.JavaUtils.byteStringAsMb(conf.get("spark.executor.memory", "1g"))
    return ExecutorSize(cores or int(conf.get("spark.executor.cores", "1") or 1), int(memory_mb))


class ResourceProfiles:
    """The profiles of an application's pools by site, all of one `size`. A site that comes back has the profile it had
    before."""

    def __init__(self, spark: SparkSession, allocation: AllocationClient, size: ExecutorSize) -> None:
        self._spark, self._allocation, self._size = spark, allocation, size
        self._profiles: dict[PoolSite, ResourceProfile] = {}

    def __getitem__(self, site: PoolSite) -> ResourceProfile:
        return self._profiles[site]

    @property
    def ids(self) -> dict[PoolSite, int]:
        return {site: profile.id for site, profile in self._profiles.items()}

    def create(self, site: PoolSite) -> ResourceProfile:
        if site not in self._profiles:
            profile = _profile(self._spark, self._size, site.node)
            java: Any = profile._java_resource_profile
            self._allocation.register(java)
            self._profiles[site] = profile
        return self._profiles[site]


def _profile(spark: SparkSession, size: ExecutorSize, node: str | None) -> ResourceProfile:
    """A new profile; with `node` its executors run only where a node has that name or label."""
    conf = spark.sparkContext.getConf()
    executor = ExecutorResourceRequests().cores(size.cores).memory(f"{size.memory_mb}m")
    if overhead := conf.get("spark.executor.memoryOverhead"):
        executor = executor.memoryOverhead(overhead)
    task = TaskResourceRequests().cpus(1)
    if node is not None:
        executor = executor.resource(resource_of(node), 1)
        task = task.resource(resource_of(node), _ANY_NUMBER_OF_TASKS)
    return ResourceProfileBuilder().require(executor).require(task).build
