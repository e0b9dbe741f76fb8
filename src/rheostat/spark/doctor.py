"""Doctor: what a given Spark can do for an elastic pipeline and, for what it cannot, why.

Each row is one ability. It is checked by asking the running session, not by Spark's version. Nothing but the session
itself is started or changed.
"""

from collections.abc import Callable
from typing import Any

import msgspec
import pyspark
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from rheostat.duration import human, seconds
from rheostat.errors import ConfigError, PlantError, RheostatError
from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.attach import check_controllable
from rheostat.spark.cluster.address import ClusterAddress
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.master_page import read_master_page
from rheostat.spark.cluster.node import resource_of
from rheostat.spark.install import jvm_helpers
from rheostat.spark.observe.status_store import StatusStore
from rheostat.spark.session import Setting, build_session

OLDEST_SPARK = (4, 1)
_SHORTEST_LOCALITY_WAIT_S = 10.0


class Ability(msgspec.Struct, frozen=True):
    """`why` names what makes it possible, or what is missing and would help."""

    name: str
    can: bool
    why: str


Check = Callable[[SparkSession], str]
"""Returns why an ability is there; raises a `RheostatError` or `Py4JError` with the reason if it is not."""


def diagnose(
    master: str | None = None,
    cluster: EmbeddedCluster | ClusterAddress | None = None,
    settings: dict[str, Setting] | None = None,
) -> tuple[Ability, ...]:
    """Start a session as a pipeline would, `examine` it and end it. If it does not start, that is the only row."""
    try:
        spark = build_session("rheostat doctor", master, cluster, settings)
    except (RheostatError, Py4JError) as error:
        return (Ability("session", False, _reason(error)),)
    address = cluster.address if isinstance(cluster, EmbeddedCluster) else cluster
    try:
        return examine(spark, None if address is None else address.web_url)
    finally:
        spark.stop()


def examine(spark: SparkSession, web_url: str | None = None) -> tuple[Ability, ...]:
    """The abilities of a running session. `web_url` is the page of a standalone master, which has the node labels.

    A Spark Connect session has one row, which says that it cannot be controlled.
    """
    if not hasattr(spark, "_jsparkSession"):
        return (_ability("session", _control, spark),)
    checks: dict[str, Check] = {
        "version": _version,
        "control of executors": _control,
        "pools": _pools,
        "substream moves": _moves,
        "sticky substreams": _sticky,
        "standby": _standby,
        "node labels": lambda spark: _labels(spark, web_url),
        "measurements": _measurements,
        "fast checkpoints": _checkpoints,
    }
    return tuple(_ability(name, check, spark) for name, check in checks.items())


def _ability(name: str, check: Check, spark: SparkSession) -> Ability:
    try:
        return Ability(name, True, check(spark))
    except (RheostatError, Py4JError) as error:
        return Ability(name, False, _reason(error))


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _version(spark: SparkSession) -> str:
    found = tuple(int(part) for part in spark.version.split(".")[:2])
    if found < OLDEST_SPARK:
        raise PlantError(f"Spark {spark.version} is too old: use {'.'.join(map(str, OLDEST_SPARK))} or newer")
    return f"Spark {spark.version}, PySpark {pyspark.__version__}"


def _control(spark: SparkSession) -> str:
    check_controllable(spark)
    return f"{len(AllocationClient(spark).executors())} executors at present on {spark.sparkContext.master}"


def _pools(spark: SparkSession) -> str:
    check_controllable(spark)
    if _setting(spark, "spark.dynamicAllocation.enabled", "false") != "true":
        raise PlantError("spark.dynamicAllocation.enabled is false: pools need it, set it to true")
    manager = _context(spark).resourceProfileManager()
    if not bool(manager.isSupported(manager.defaultResourceProfile())):
        raise PlantError(f"{spark.sparkContext.master} does not support resource profiles, which pools need")
    pinned = jvm_helpers.is_loaded(spark.sparkContext._jvm)
    return "no cost per row" if pinned else "each row passes through Python, since the JVM helpers are not loaded"


def _moves(spark: SparkSession) -> str:
    check_controllable(spark)
    classic: Any = spark
    classic._jsparkSession.streams().stateStoreCoordinator().toString()
    return "substreams move with their state between two batches"


def _sticky(spark: SparkSession) -> str:
    wait = _setting(spark, "spark.locality.wait.process", _setting(spark, "spark.locality.wait", "3s"))
    wait_s = seconds(wait if wait[-1].isalpha() else f"{wait}ms", "spark.locality.wait.process")
    if wait_s < _SHORTEST_LOCALITY_WAIT_S:
        raise ConfigError(
            f"a task waits only {human(wait_s)} for the executor that has its state: "
            "set spark.locality.wait.process to 60s"
        )
    return f"a task waits {human(wait_s)} for the executor that has its state"


def _standby(spark: SparkSession) -> str:
    _pools(spark)
    if not jvm_helpers.is_loaded(spark.sparkContext._jvm):
        raise PlantError("the JVM helpers are not loaded: without them a standby executor would get work at once")
    return "warm executors get no work until they are activated"


def _labels(spark: SparkSession, web_url: str | None) -> str:
    check_controllable(spark)
    if not str(spark.sparkContext.master).startswith("spark://"):
        raise PlantError("node labels are resources of workers, which only a standalone cluster has")
    page = None if web_url is None else read_master_page(web_url)
    if page is None:
        raise PlantError("the labels of the workers are not known: give the address of the master's page")
    prefix = resource_of("x")[:-1]
    labels = sorted(
        {name.removeprefix(prefix) for w in page.workers for name in w.resources if name.startswith(prefix)}
    )
    if not labels:
        raise PlantError(f"none of the {len(page.workers)} workers has a label (a resource named {prefix}LABEL)")
    return ", ".join(labels)


def _measurements(spark: SparkSession) -> str:
    StatusStore(spark).executors()
    return "executors, stages and tasks are read from the driver's status store"


def _checkpoints(spark: SparkSession) -> str:
    """Only local files need the helpers: Hadoop forks a process for each of them."""
    if not jvm_helpers.is_loaded(spark.sparkContext._jvm):
        raise PlantError("the JVM helpers are not loaded: each checkpoint file on a local disk forks a process")
    return "checkpoints on a local disk fork no processes"


def _context(spark: SparkSession) -> Any:
    return spark.sparkContext._jsc.sc()


def _setting(spark: SparkSession, name: str, default: str) -> str:
    return str(spark.sparkContext.getConf().get(name, default))
