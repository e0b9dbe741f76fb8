"""What all tests share: property tests judged by their results and never by the clock, and one Spark session."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.kafka.local_broker import LocalBroker

settings.register_profile("rheostat", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("rheostat")

T = TypeVar("T")

_MOST_EXECUTORS_LEFT_OVER = 4
"""Of eight slots: the others are free for the tests of the next module."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Several processes: tests of a module stay together, and those with the one Spark session in one process."""
    from xdist.scheduler import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            shares_session = (
                module.startswith(("tests/spark/", "tests/contract/test_plants.py")) and "exactly_once" not in module
            )
            return "spark" if shares_session else module

    return ByModule(config, log)


@pytest.fixture(scope="session")
def cluster() -> "Iterator[EmbeddedCluster]":
    """Two nodes of four slots; the second one answers to the label `big` as well."""
    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.cluster.node import Node

    nodes = [Node("left", cores=4, memory="8g"), Node("right", cores=4, memory="8g", labels=("big",))]
    with EmbeddedCluster(nodes) as running:
        yield running


@pytest.fixture(scope="session")
def connector() -> list[Path]:
    """The jars with which Spark uses Kafka."""
    from rheostat.errors import PlantError
    from rheostat.spark.kafka.local_broker import connector_jars

    try:
        return connector_jars()
    except PlantError as error:
        pytest.skip(f"no Kafka: {error}")


@pytest.fixture(scope="session")
def broker(connector: list[Path]) -> "Iterator[LocalBroker]":
    """The only Kafka broker of the test run. Tests have topics of their own."""
    from rheostat.spark.kafka.local_broker import LocalBroker

    with LocalBroker() as running:
        yield running


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, cluster: "EmbeddedCluster") -> "Iterator[SparkSession]":
    """The only session of the test run, with executors of one slot and 512 MiB, and with Kafka if a test needs it."""
    from rheostat.spark.install.maven import has_maven
    from rheostat.spark.session import build_session

    settings: dict[str, str | int] = {
        "spark.executor.cores": 1,
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": 2,
        "spark.default.parallelism": 2,
    }
    if has_maven() and any("broker" in getattr(item, "fixturenames", ()) for item in request.session.items):
        settings["spark.jars"] = ",".join(map(str, request.getfixturevalue("connector")))
    session = build_session("tests", cluster=cluster, settings=settings)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def idle_cluster(spark: "SparkSession", eventually: "Eventually") -> "SparkSession":
    """The session without executors: those that earlier tests needed may leave no room for others."""
    _release_executors(spark, eventually)
    return spark


@pytest.fixture(scope="module", autouse=True)
def _room_for_executors(request: pytest.FixtureRequest, eventually: "Eventually") -> None:
    """Release the executors of earlier modules before they fill the cluster.

    Spark keeps executors with shuffle files until these are collected: those of earlier profiles could take all
    slots, and a test with a profile of its own would wait for one without end.
    """
    if any("spark" in item.fixturenames and item.get_closest_marker("spark") for item in _tests_of(request.node)):
        spark = request.getfixturevalue("spark")
        if len(_executor_ids(spark)) > _MOST_EXECUTORS_LEFT_OVER:
            _release_executors(spark, eventually)


def _tests_of(module: pytest.Module) -> list[pytest.Function]:
    return [
        item
        for item in module.session.items
        if isinstance(item, pytest.Function) and item.getparent(pytest.Module) is module
    ]


def _executor_ids(spark: "SparkSession") -> set[str]:
    from rheostat.spark.observe.status_store import StatusStore

    return {executor.id for executor in StatusStore(spark).executors()}


def _release_executors(spark: "SparkSession", eventually: "Eventually") -> None:
    ids = _executor_ids(spark)
    context = spark.sparkContext
    context._jsc.sc().schedulerBackend().killExecutors(context._jvm.PythonUtils.toSeq(sorted(ids)), False, False, True)
    eventually(lambda: not _executor_ids(spark) & ids or None, "no executors")


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
