"""Class archive: Spark's classes, read and verified once and then mapped into memory by every JVM.

A new executor spends half of its start on reading and verifying some 11,000 classes. Java can store them in the form
they have in memory (class data sharing). The archive is made on first use by a training run, a small streaming
application whose JVM writes at its end what it loaded, and kept for each Spark and Java. A JVM that cannot use the
archive starts without it.
"""

import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rheostat.errors import PlantError
from rheostat.spark.install import training_run
from rheostat.spark.install.cache import default_cache, fingerprint, made_once, private_folder
from rheostat.spark.install.java import find_java
from rheostat.spark.install.spark_home import neutral_environment, spark_home
from rheostat.spark.processes.log_cause import cause_in
from rheostat.spark.processes.process_guard import run_guarded

_TRAINING_TIMEOUT_S = 600.0
_UNUSED_AFTER_S = 30 * 86400.0
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_TRAINING_OPTIONS = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {_QUIET}"
_LOG = logging.getLogger(__name__)


def class_archive(cache: Path | None = None) -> Path:
    """The archive, made now if `cache` (by default the user's) does not have it.

    Making it takes about 30 s of a core and 200 MB of disk, and removes archives that were not used for a month. If
    several processes need it at once, one makes it and the others wait.
    """
    archive = _path(private_folder(cache or default_cache()))
    if not archive.exists():
        _remove_unused(archive.parent)
    made_once(archive, _make)
    os.utime(archive)
    return archive


def class_archive_or_none(cache: Path | None = None) -> Path | None:
    """As `class_archive`, but a failure is only logged, with what it costs."""
    try:
        return class_archive(cache)
    except (PlantError, OSError) as error:
        _LOG.warning("no archive of Spark's classes, executors start slower: %s", error)
        return None


def existing_archive(cache: Path | None = None) -> Path | None:
    """The archive if it exists already."""
    archive = _path(cache or default_cache())
    return archive if archive.exists() else None


def archive_options(archive: Path) -> str:
    """The Java options that make a JVM use the archive, and start without a warning if it cannot."""
    return f'"-XX:SharedArchiveFile={archive}" {_QUIET}'


def _path(folder: Path) -> Path:
    java = find_java()
    made_by = [Path(training_run.__file__).read_bytes(), _TRAINING_OPTIONS.encode()]
    made_for = [java.text.encode(), str(java.executable.resolve()).encode()]
    return folder / f"classes-{fingerprint(made_by + made_for)}.jsa"


def _remove_unused(folder: Path) -> None:
    for archive in folder.glob("classes-*.jsa"):
        if time.time() - archive.stat().st_mtime > _UNUSED_AFTER_S:
            archive.unlink(missing_ok=True)


def _make(archive: Path) -> None:
    _LOG.info("making an archive of Spark's classes, once for this Spark, so that executors start faster")
    with tempfile.TemporaryDirectory(prefix="rheostat-training-") as folder:
        ran = _run_training(archive, Path(folder))
    if ran.returncode != 0 or not archive.exists():
        raise PlantError(f"the training run ended with code {ran.returncode}: {cause_in(ran.stdout)}")


def _run_training(archive: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the training under `spark-submit`, whose JVM waits for the script and then writes the archive."""
    options = f'"-XX:ArchiveClassesAtExit={archive}" {_TRAINING_OPTIONS}'
    settings = training_run.SETTINGS | {"spark.driver.defaultJavaOptions": options}
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]"]
    command += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    environ = neutral_environment() | {
        "SPARK_CONF_DIR": str(folder / "none"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONSAFEPATH": "1",  # modules beside the script must not hide Python's own of the same names
    }
    return run_guarded([*command, training_run.__file__, str(folder)], _TRAINING_TIMEOUT_S, environ)
