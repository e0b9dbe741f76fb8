"""Spark target: where a topology runs: in a session that is there, on a master, or on a cluster of our own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from rheostat.errors import ConfigError
from rheostat.spark.cluster.address import ClusterAddress
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.status import NodeStatus
from rheostat.spark.session import Setting, build_session

EXECUTOR_MEMORY_MB = 768
"""Of an executor on a cluster of our own, where several share one machine."""

FAST_START_SETTINGS = dict.fromkeys(
    ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"),
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
)
"""For JVMs that live a few minutes on few cores: only the fast compiler, with as much room for code as both would have,
and no threads for garbage collection."""


@dataclass(frozen=True, slots=True)
class SparkTarget:
    """A running `session`, or else a new one on `master` or `cluster` with these `settings`, which ends with the run.

    `nodes` pins the pools of operators to nodes, by operator.
    """

    session: SparkSession | None = None
    master: str | None = None
    cluster: EmbeddedCluster | ClusterAddress | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.session is not None and (self.master is not None or self.cluster is not None or self.settings):
            raise ConfigError("a Spark session that runs has its master and settings: give either the session or those")
        if self.master is not None and self.cluster is not None:
            raise ConfigError(f"master {self.master!r} and a cluster are two places to run on: give one")

    @property
    def known_nodes(self) -> tuple[NodeStatus, ...]:
        """The nodes of an embedded cluster. Of others Spark shows only the hosts that have executors."""
        return tuple(self.cluster.status().nodes) if isinstance(self.cluster, EmbeddedCluster) else ()

    @contextmanager
    def open(self, name: str) -> Iterator[SparkSession]:
        """The session. One that is made for this ends with the block."""
        if self.session is not None:
            yield self.session
            return
        defaults: dict[str, Setting] = {"spark.executor.memory": f"{EXECUTOR_MEMORY_MB}m"} if self.cluster else {}
        spark = build_session(name, self.master, self.cluster, {**defaults, **self.settings})
        try:
            yield spark
        finally:
            spark.stop()


def as_target(on: "SparkTarget | SparkSession | EmbeddedCluster | ClusterAddress | str | None") -> SparkTarget:
    """A target from a session, a master's URL or a cluster; without any a new session as Spark's settings say."""
    match on:
        case SparkTarget():
            return on
        case str():
            return SparkTarget(master=on)
        case EmbeddedCluster() | ClusterAddress():
            return SparkTarget(cluster=on)
        case None | SparkSession():
            return SparkTarget(session=on)
    raise ConfigError(f"cannot run on {on!r}: give a Spark session, a master's URL, a cluster or a SparkTarget")
