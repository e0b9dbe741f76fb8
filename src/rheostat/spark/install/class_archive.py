"""An archive of Spark's classes, read and verified once and then mapped into memory by every JVM.

Half of what a new executor does before it is of use is reading and verifying some 11,000 classes. Java can
store them as they are in memory (class data sharing). The archive is made on first use by a rehearsal, a small
streaming application whose JVM writes down at its end what it loaded, and kept for each Spark and Java. A JVM
that finds it unfit starts without it.
"""

import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rheostat.errors import PlantError
from rheostat.spark.install import rehearsal
from rheostat.spark.install.cache import default_cache, fingerprint, made_once, private_folder
from rheostat.spark.install.java import find_java
from rheostat.spark.install.spark_home import neutral_environment, spark_home
from rheostat.spark.processes.log_cause import cause_in
from rheostat.spark.processes.process_guard import run_guarded

_DEADLINE_S = 600.0
_FORGOTTEN_AFTER_S = 30 * 86400.0
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_REHEARSAL_OPTIONS = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {_QUIET}"
_LOG = logging.getLogger(__name__)


def class_archive(cache: Path | None = None) -> Path:
    """The archive, made now if `cache` (by default the user's) does not have it.

    Making it takes some 30 s of a core and 200 MB of disk. Archives that no one used for a month are removed
    then. Of several processes that need it at once, one makes it and the others wait.
    """
    archive = _place(private_folder(cache or default_cache()))
    if not archive.exists():
        _forget_old(archive.parent)
    made_once(archive, _rehearse)
    os.utime(archive)
    return archive


def class_archive_or_none(cache: Path | None = None) -> Path | None:
    """As `class_archive`, but a failure is logged with what it costs."""
    try:
        return class_archive(cache)
    except (PlantError, OSError) as error:
        _LOG.warning("going on without an archive of Spark's classes, executors start slower: %s", error)
        return None


def existing_archive(cache: Path | None = None) -> Path | None:
    """The archive if it is there already."""
    archive = _place(cache or default_cache())
    return archive if archive.exists() else None


def archive_options(archive: Path) -> str:
    """The Java options that make a JVM use it, and keep quiet if it cannot."""
    return f'"-XX:SharedArchiveFile={archive}" {_QUIET}'


def _place(folder: Path) -> Path:
    java = find_java()
    made_by = [Path(rehearsal.__file__).read_bytes(), _REHEARSAL_OPTIONS.encode()]
    made_for = [java.text.encode(), str(java.executable.resolve()).encode()]
    return folder / f"classes-{fingerprint(made_by + made_for)}.jsa"


def _forget_old(folder: Path) -> None:
    for archive in folder.glob("classes-*.jsa"):
        if time.time() - archive.stat().st_mtime > _FORGOTTEN_AFTER_S:
            archive.unlink(missing_ok=True)


def _rehearse(archive: Path) -> None:
    _LOG.info("once for this Spark: writing an archive of its classes, so that executors start faster")
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as workplace:
        ran = _run_rehearsal(archive, Path(workplace))
    if ran.returncode != 0 or not archive.exists():
        raise PlantError(f"the rehearsal ended with code {ran.returncode}: {cause_in(ran.stdout)}")


def _run_rehearsal(archive: Path, workplace: Path) -> "subprocess.CompletedProcess[str]":
    """Run the rehearsal under `spark-submit`, whose JVM waits for the script and then writes the archive."""
    options = f'"-XX:ArchiveClassesAtExit={archive}" {_REHEARSAL_OPTIONS}'
    settings = rehearsal.SETTINGS | {"spark.driver.defaultJavaOptions": options}
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]"]
    command += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    environ = neutral_environment() | {
        "SPARK_CONF_DIR": str(workplace / "none"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONSAFEPATH": "1",  # or our modules beside the script would hide Python's own of the same names
    }
    return run_guarded([*command, rehearsal.__file__, str(workplace)], _DEADLINE_S, environ)
