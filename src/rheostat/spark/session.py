"""A Spark session set up for elastic streaming: every setting a default that the user's own word overrides."""

import logging
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from py4j.java_gateway import JVMView
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from rheostat.errors import ConfigError, PlantError
from rheostat.spark.cluster.embedded import MASTER_HOST, ClusterAddress, EmbeddedCluster
from rheostat.spark.install import jvm_helpers
from rheostat.spark.install.class_archive import archive_options, existing_archive
from rheostat.spark.install.java import find_java
from rheostat.spark.install.jvm_extras import JvmExtras
from rheostat.spark.install.spark_home import spark_home
from rheostat.spark.processes.log_cause import cause_in

Setting = str | int | float | bool

_LOG = logging.getLogger(__name__)
_SECRET_KEY = re.compile(r"(?i)secret|password|token|access[.]?key")
"""What Spark itself keeps out of its logs (spark.redaction.regex); we keep it out of arguments too."""

_POOLS = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
}
"""Executors by resource profile need dynamic allocation; who decides their number is another matter."""

_STICKY_SUBSTREAMS = {
    "spark.locality.wait.process": "60s",
    "spark.shuffle.reduceLocality.enabled": "false",
}
"""A stateful task waits for the executor that holds its state. Other tasks after a shuffle must not wait for
whoever wrote the rows, or a pool would never use its new executors."""

_STATE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""A batch writes what changed, not a snapshot of all state. A task that is repeated writes the same file again, and
up to Spark 4.2 the checksum of the first attempt may stay beside it: no query could restart on that (SPARK-56461)."""

_LOOPBACK = {
    "spark.driver.host": MASTER_HOST,
    "spark.driver.bindAddress": MASTER_HOST,
    "spark.ui.enabled": "false",
}
"""On the embedded cluster nothing listens to the network; Spark's driver page would, on all addresses."""

_FILES_BY_HELPERS = {
    "spark.hadoop.fs.file.impl": jvm_helpers.FILE_SYSTEM,
    "spark.hadoop.fs.AbstractFileSystem.file.impl": jvm_helpers.ABSTRACT_FILE_SYSTEM,
}
_FILES_WITHOUT_HELPERS = {
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}
"""One forked `chmod` for each checkpoint file instead of two; the checksum file is one Spark never reads."""


def build_session(
    app_name: str,
    master: str | None = None,
    cluster: EmbeddedCluster | ClusterAddress | None = None,
    settings: Mapping[str, Setting] | None = None,
    *,
    use_kit: bool = True,
) -> SparkSession:
    """A new session on `master` (any Spark master URL) or on an embedded `cluster`.

    What `settings` or the user's spark-defaults.conf say is never overridden. Executors run this process's
    Python unless `spark.pyspark.python` or PYSPARK_PYTHON names another; the variable is set here, as it is
    the only thing PySpark looks at.
    """
    wished = {key: _text(value) for key, value in (settings or {}).items()}
    address = cluster.address if isinstance(cluster, EmbeddedCluster) else cluster
    url = _master_url(master, address, wished)
    _check_that_a_session_can_start()
    _choose_python(wished)
    kit = _kit_for(url, address) if use_kit else JvmExtras()
    jvm = _launch_jvm(wished, url, kit)
    conf = SparkConf(_jvm=jvm)
    for key, value in wished.items():
        conf.set(key, value)
    if url is not None:
        conf.setMaster(url)
    if not conf.contains("spark.master"):
        raise ConfigError("no Spark master: give one (such as 'local[2]' or 'spark://host:7077') or a cluster")
    kit = _usable(kit, jvm)
    for key, value in default_settings(dict(conf.getAll()), address, kit).items():
        conf.set(key, value)
    return _start(conf.setAppName(app_name))


def _master_url(master: str | None, address: ClusterAddress | None, wished: Mapping[str, str]) -> str | None:
    given = [url for url in (master, address and address.master_url, wished.get("spark.master")) if url]
    if len(set(given)) > 1:
        raise ConfigError(f"several Spark masters are named ({', '.join(given)}): name one")
    return given[0] if given else None


def _check_that_a_session_can_start() -> None:
    if "SPARK_REMOTE" in os.environ or "SPARK_CONNECT_MODE_ENABLED" in os.environ:
        raise PlantError("Spark Connect has no control of executors: unset SPARK_REMOTE and use a master URL")
    if SparkContext._active_spark_context is not None:
        name = SparkContext._active_spark_context.appName
        raise PlantError(f"the Spark session {name!r} is active in this process: stop it first")
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        find_java()


def _choose_python(wished: Mapping[str, str]) -> None:
    if "spark.pyspark.python" in wished:
        os.environ["PYSPARK_PYTHON"] = wished["spark.pyspark.python"]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _kit_for(url: str | None, address: ClusterAddress | None) -> JvmExtras:
    """A cluster's own kit; elsewhere the helpers, and the archive if one is there already."""
    return address.kit if address is not None else JvmExtras(jvm_helpers.helpers_jar_or_none(), existing_archive())


def _usable(kit: JvmExtras, jvm: JVMView) -> JvmExtras:
    if kit.helpers is None or jvm_helpers.load_helpers(jvm, kit.helpers):
        return kit
    return replace(kit, helpers=None)


def _launch_jvm(wished: Mapping[str, str], url: str | None, kit: JvmExtras) -> JVMView:
    """The driver's JVM, started with what it must know from its first moment.

    Settings given there are visible to every user of the machine as arguments of the process, hence no
    secrets; and they override the user's spark-defaults.conf, hence few of our own.
    """
    early = SparkConf(loadDefaults=False)
    users = _users_defaults()
    for key, value in _early_defaults(kit).items():
        if key not in users:
            early.set(key, value)
    for key, value in wished.items():
        if not _SECRET_KEY.search(key):
            early.set(key, value)
    if url is not None:
        early.setMaster(url)
    SparkContext._ensure_initialized(conf=early)
    assert SparkContext._jvm is not None
    return SparkContext._jvm


def _start(conf: SparkConf) -> SparkSession:
    try:
        return SparkSession(SparkContext(conf=conf))
    except Py4JError as error:
        reason = cause_in(str(getattr(error, "java_exception", error)))
        raise PlantError(f"no Spark session on {conf.get('spark.master')}: {reason}") from error


def _early_defaults(kit: JvmExtras) -> dict[str, str]:
    """The progress bar is switched on by PySpark's launcher, so that a default set later would come too late."""
    quiet = {"spark.ui.showConsoleProgress": "false"}
    if kit.archive is None:
        return quiet
    return quiet | {"spark.driver.defaultJavaOptions": archive_options(kit.archive)}


def _users_defaults() -> str:
    folder = os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf"
    file = Path(folder, "spark-defaults.conf")
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def default_settings(explicit: Mapping[str, str], address: ClusterAddress | None, kit: JvmExtras) -> dict[str, str]:
    """What to set beside the user's `explicit` settings (the master among them), none of which is repeated."""
    is_local = explicit["spark.master"].startswith("local")
    defaults = _STATE | _STICKY_SUBSTREAMS
    if not is_local and explicit.get("spark.dynamicAllocation.enabled", "true") == "true":
        defaults |= _POOLS
    if address is not None:
        defaults |= _LOOPBACK | {"spark.authenticate": "true", "spark.authenticate.secret": address.secret}
        defaults |= {"spark.executor.defaultJavaOptions": kit.java_options}
    # Only where all executors see this machine's files do they have the helpers, and need them.
    if is_local or address is not None:
        defaults |= _FILES_WITHOUT_HELPERS if kit.helpers is None else _FILES_BY_HELPERS
    return {key: value for key, value in defaults.items() if key not in explicit}


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
