"""Spark session: set up for elastic streaming, with defaults that the user's own settings override."""

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from py4j.java_gateway import JVMView
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from rheostat.errors import ConfigError, PlantError
from rheostat.spark.cluster.address import MASTER_HOST, ClusterAddress
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.install import jvm_helpers
from rheostat.spark.install.class_archive import archive_options, existing_archive
from rheostat.spark.install.java import find_java
from rheostat.spark.install.jvm_extras import JvmExtras
from rheostat.spark.install.spark_home import spark_home
from rheostat.spark.master_url import check_master
from rheostat.spark.processes.log_cause import cause_in

Setting = str | int | float | bool

_SECRET_KEY = re.compile(r"(?i)secret|password|token|access[.]?key")
"""Settings that Spark keeps out of its logs (spark.redaction.regex); they are kept out of arguments too."""

_POOLS = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
}
"""Executors by resource profile need dynamic allocation to be enabled, even if Spark does not decide their number."""

_STICKY_SUBSTREAMS = {
    "spark.locality.wait.process": "60s",
    "spark.shuffle.reduceLocality.enabled": "false",
}
"""A stateful task waits for the executor that has its state. Other tasks after a shuffle must not wait for the
executors that wrote the rows, or a pool would never use its new executors."""

_STATE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""A batch writes the changes of its state, not a snapshot of all of it. A repeated task writes the same file again, and
up to Spark 4.2 the checksum of the first attempt may stay beside it: a query cannot restart from that (SPARK-56461)."""

_SELDOM_POLLS = {"spark.sql.streaming.pollingDelay": "100ms"}
"""A query without new rows looks for some every 10 ms by default. Each look lists a folder or asks Python: the sources
of a calm topology kept much of a core busy, which its executors miss where they share it."""

_QUICK_BATCHES = {"spark.sql.adaptive.streaming.stateless.enabled": "false"}
"""With adaptive execution each shuffle of a batch is a job of its own, and small batches wait between their jobs."""

_QUICK_LOSSES = {"spark.shuffle.io.retryWait": "1s", "spark.shuffle.io.maxRetries": "15"}
"""As long as by default, in shorter steps: a task that reads from an executor that is gone learns it only when it tries
again."""

_SMALL_EXECUTORS = {"spark.executor.cores": "1"}
"""On a standalone cluster an executor without a number of cores takes all those of its worker: the first one, for the
sources, would leave none for the pools."""

_UNUSED_DEFAULTS = ("yarn-default.xml", "mapred-default.xml")
_WITH_DEFAULTS = (
    "org.apache.hadoop.hdfs.HdfsConfiguration",
    "org.apache.hadoop.yarn.conf.YarnConfiguration",
    "org.apache.hadoop.mapred.JobConf",
)
"""When one of these is loaded for the first time, all configurations read all defaults again."""

_LOOPBACK = {
    "spark.driver.host": MASTER_HOST,
    "spark.driver.bindAddress": MASTER_HOST,
    "spark.ui.enabled": "false",
}
"""On an embedded cluster nothing listens to the network; Spark's driver page would, on all addresses."""

_FILES_BY_HELPERS = {
    "spark.hadoop.fs.file.impl": jvm_helpers.FILE_SYSTEM,
    "spark.hadoop.fs.AbstractFileSystem.file.impl": jvm_helpers.ABSTRACT_FILE_SYSTEM,
}
_FILES_WITHOUT_HELPERS = {
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}
"""One forked `chmod` for each checkpoint file instead of two; Spark never reads the checksum files."""


def build_session(
    app_name: str,
    master: str | None = None,
    cluster: EmbeddedCluster | ClusterAddress | None = None,
    settings: Mapping[str, Setting] | None = None,
    *,
    use_jvm_extras: bool = True,
) -> SparkSession:
    """A new session on `master` (any Spark master URL) or on an embedded `cluster`.

    `settings` and the user's spark-defaults.conf are never overridden. Executors run this process's Python unless
    `spark.pyspark.python` or PYSPARK_PYTHON names another; the variable is set here, since PySpark reads nothing else.
    Without `use_jvm_extras` the JVMs are as Spark starts them, with all of Hadoop's defaults.
    """
    given = {key: _text(value) for key, value in (settings or {}).items()}
    address = cluster.address if isinstance(cluster, EmbeddedCluster) else cluster
    url = _master_url(master, address, given)
    _check_that_a_session_can_start()
    if url is not None:
        check_master(url)
    _choose_python(given)
    extras = _extras_for(address) if use_jvm_extras else JvmExtras()
    jvm = _launch_jvm(given, url, extras)
    conf = SparkConf(_jvm=jvm)
    for key, value in given.items():
        conf.set(key, value)
    if url is not None:
        conf.setMaster(url)
    if not conf.contains("spark.master"):
        raise ConfigError("no Spark master is named: give one (such as 'local[2]' or 'spark://host:7077') or a cluster")
    extras = _usable(extras, jvm)
    for key, value in default_settings(dict(conf.getAll()), address, extras).items():
        conf.set(key, value)
    session = _start(conf.setAppName(app_name))
    if use_jvm_extras and not conf.get("spark.master", "").startswith("yarn"):
        drop_unused_defaults(session)
    return session


def _master_url(master: str | None, address: ClusterAddress | None, given: Mapping[str, str]) -> str | None:
    urls = [url for url in (master, address and address.master_url, given.get("spark.master")) if url]
    if len(set(urls)) > 1:
        raise ConfigError(f"several Spark masters are named ({', '.join(urls)}): name one")
    return urls[0] if urls else None


def _check_that_a_session_can_start() -> None:
    connect = [name for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED") if name in os.environ]
    if connect:
        raise PlantError(
            f"Spark Connect has no control of executors: unset {' and '.join(connect)} and use a master URL"
        )
    if SparkContext._active_spark_context is not None:
        name = SparkContext._active_spark_context.appName
        raise PlantError(f"the Spark session {name!r} is active in this process: stop it first")
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        find_java()


def _choose_python(given: Mapping[str, str]) -> None:
    if "spark.pyspark.python" in given:
        os.environ["PYSPARK_PYTHON"] = given["spark.pyspark.python"]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _extras_for(address: ClusterAddress | None) -> JvmExtras:
    """A cluster's own extras; elsewhere the helpers, and the archive if it exists already."""
    if address is not None:
        return address.jvm_extras
    return JvmExtras(jvm_helpers.helpers_jar_or_none(), existing_archive())


def _usable(extras: JvmExtras, jvm: JVMView) -> JvmExtras:
    """Without helpers that the JVM cannot load. With them, it forgets the file system with which its launcher has read
    the user's jars."""
    if extras.helpers is None:
        return extras
    if not jvm_helpers.load_helpers(jvm, extras.helpers):
        return replace(extras, helpers=None)
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()
    return extras


def _launch_jvm(given: Mapping[str, str], url: str | None, extras: JvmExtras) -> JVMView:
    """The driver's JVM, started with the settings that it needs at its start.

    They are arguments of the process, which every user of the machine can see, so they hold no secrets. They override
    the user's spark-defaults.conf, so there are few defaults of our own.
    """
    early = SparkConf(loadDefaults=False)
    users = _users_defaults()
    for key, value in _early_defaults(extras).items():
        if key not in users:
            early.set(key, value)
    for key, value in given.items():
        if not _SECRET_KEY.search(key):
            early.set(key, value)
    if url is not None:
        early.setMaster(url)
    try:
        SparkContext._ensure_initialized(conf=early)
    except PySparkRuntimeError as error:
        reason = f"Spark's launcher ended at once ({error.getCondition()}); its output says why"
        raise PlantError(f"cannot start a Spark session{f' on {url}' if url else ''}: {reason}") from error
    assert SparkContext._jvm is not None
    return SparkContext._jvm


def _start(conf: SparkConf) -> SparkSession:
    try:
        return SparkSession(SparkContext(conf=conf))
    except Py4JError as error:
        reason = cause_in(str(getattr(error, "java_exception", error)))
        raise PlantError(f"cannot start a Spark session on {conf.get('spark.master')}: {reason}") from error


def drop_unused_defaults(session: SparkSession) -> None:
    """Take the defaults of YARN and MapReduce, two thirds of all, out of the Hadoop configuration: Spark sends it to
    executors with every scan, write and state of a batch. What reads them has the same defaults in its code."""
    jvm: Any = session.sparkContext._jvm
    configuration: Any = session.sparkContext._jsc.hadoopConfiguration()
    for name in _WITH_DEFAULTS:
        with suppress(Py4JError):  # where Spark has a Hadoop without it
            jvm.java.lang.Class.forName(name)
    written = jvm.java.io.StringWriter()
    configuration.dumpConfiguration(configuration, written)
    for entry in json.loads(written.toString())["properties"]:
        if entry["resource"] in _UNUSED_DEFAULTS:
            configuration.unset(entry["key"])


def _early_defaults(extras: JvmExtras) -> dict[str, str]:
    """PySpark's launcher enables the progress bar, so a default that is set later has no effect."""
    quiet = {"spark.ui.showConsoleProgress": "false"}
    if extras.archive is None:
        return quiet
    return quiet | {"spark.driver.defaultJavaOptions": archive_options(extras.archive)}


def _users_defaults() -> str:
    folder = os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf"
    file = Path(folder, "spark-defaults.conf")
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def default_settings(explicit: Mapping[str, str], address: ClusterAddress | None, extras: JvmExtras) -> dict[str, str]:
    """What to set in addition to the user's `explicit` settings, which include the master."""
    is_local = explicit["spark.master"].startswith("local")
    defaults = _STATE | _STICKY_SUBSTREAMS | _SELDOM_POLLS | _QUICK_BATCHES | _QUICK_LOSSES
    if explicit["spark.master"].startswith("spark://"):
        defaults |= _SMALL_EXECUTORS
    if not is_local and explicit.get("spark.dynamicAllocation.enabled", "true") == "true":
        defaults |= _POOLS
    if address is not None:
        defaults |= _LOOPBACK | {"spark.authenticate": "true", "spark.authenticate.secret": address.secret}
        defaults |= {"spark.executor.defaultJavaOptions": extras.java_options}
    # Executors have the helpers, and need them, only if they see this machine's files.
    if is_local or address is not None:
        defaults |= _FILES_WITHOUT_HELPERS if extras.helpers is None else _FILES_BY_HELPERS
    return {key: value for key, value in defaults.items() if key not in explicit}


def _text(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
