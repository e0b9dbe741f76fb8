"""What all tests share: property tests judged by their results and never by the clock, and one Spark session."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rheostat.spark.cluster.embedded import EmbeddedCluster

settings.register_profile("rheostat", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("rheostat")

T = TypeVar("T")


@pytest.fixture(scope="session")
def cluster() -> "Iterator[EmbeddedCluster]":
    """Two nodes of four slots; the second one answers to the label `big` as well."""
    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.cluster.node import Node

    nodes = [Node("left", cores=4, memory="8g"), Node("right", cores=4, memory="8g", labels=("big",))]
    with EmbeddedCluster(nodes) as running:
        yield running


@pytest.fixture(scope="session")
def spark(cluster: "EmbeddedCluster") -> "Iterator[SparkSession]":
    """The only session of the test run, with executors of one slot and 512 MiB."""
    from rheostat.spark.session import build_session

    settings = {
        "spark.executor.cores": 1,
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": 2,
        "spark.default.parallelism": 2,
    }
    session = build_session("tests", cluster=cluster, settings=settings)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def idle_cluster(spark: "SparkSession", eventually: "Eventually") -> "SparkSession":
    """The session without executors: those that earlier tests needed may leave no room for others."""
    from rheostat.spark.observe.status_store import StatusStore

    store = StatusStore(spark)
    ids = [executor.id for executor in store.executors()]
    context = spark.sparkContext
    context._jsc.sc().schedulerBackend().killExecutors(context._jvm.PythonUtils.toSeq(ids), False, False, True)
    eventually(lambda: not {executor.id for executor in store.executors()} & set(ids) or None, "no executors")
    return spark


class Eventually(Protocol):
    """Waits for what `look` finds; fails when the deadline passes first."""

    def __call__(self, look: Callable[[], T | None], what: str, deadline_s: float = 90.0) -> T: ...


@pytest.fixture(scope="session")
def eventually() -> Eventually:
    def wait(look: Callable[[], T | None], what: str, deadline_s: float = 90.0) -> T:
        end = time.monotonic() + deadline_s
        while (found := look()) is None:
            assert time.monotonic() < end, f"waited {deadline_s} s for {what}"
            time.sleep(0.05)
        return found

    return wait
