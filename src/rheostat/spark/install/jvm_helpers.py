"""JVM helpers: a few lines of Scala, compiled on first use against the installed Spark.

The compiler comes with pyspark. The jar is cached under a hash of its sources and of the Spark, so another Spark gets
another jar. Nothing depends on the helpers: without them everything works, but slower, and the log says so.
"""

import logging
import subprocess
from pathlib import Path

from py4j.java_gateway import JVMView
from py4j.protocol import Py4JError

from rheostat.errors import PlantError
from rheostat.spark.install.cache import default_cache, fingerprint, made_once, private_folder
from rheostat.spark.install.java import find_java
from rheostat.spark.install.spark_home import spark_home
from rheostat.spark.processes.log_cause import cause_in
from rheostat.spark.processes.process_guard import run_guarded

SOURCES = Path(__file__).with_name("jvm")
FILE_SYSTEM = "rheostat.jvm.ForklessFileSystem"
ABSTRACT_FILE_SYSTEM = "rheostat.jvm.ForklessFs"
PIN = "org.apache.spark.sql.rheostat.Pin"

_COMPILE_TIMEOUT_S = 300.0
_LOG = logging.getLogger(__name__)


def helpers_jar(cache: Path | None = None) -> Path:
    """The compiled helpers, compiled now if `cache` (by default the user's) does not have them.

    If several processes need them at once, one compiles and the others wait.
    """
    folder = private_folder(cache or default_cache())
    jar = folder / f"helpers-{fingerprint(source.read_bytes() for source in _sources())}.jar"
    return made_once(jar, _compile)


def helpers_jar_or_none(cache: Path | None = None) -> Path | None:
    """As `helpers_jar`, but a failure is only logged, with what it costs."""
    try:
        return helpers_jar(cache)
    except (PlantError, OSError) as error:
        _LOG.warning(
            "no JVM helpers (%s): with pools every row passes through Python in each batch, and checkpoints on"
            " local disks fork a process for each file",
            error,
        )
        return None


def load_helpers(jvm: JVMView, jar: Path) -> bool:
    """Add the helpers to a driver's JVM, which may run already; False if that is not possible."""
    if is_loaded(jvm):
        return True
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    except Py4JError as error:
        _LOG.warning("no JVM helpers, since this driver's class loader takes no jar: %s", error)
        return False
    return is_loaded(jvm)


def is_loaded(jvm: JVMView) -> bool:
    """Whether the helpers can be called in this JVM."""
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.loadClass(PIN)
    except Py4JError:
        return False
    return True


def _sources() -> list[Path]:
    return sorted(SOURCES.glob("*.scala"))


def _jars() -> Path:
    jars = spark_home() / "jars"
    if not any(jars.glob("scala-compiler*.jar")):
        raise PlantError(f"no Scala compiler in {jars}, where a full Spark has one")
    return jars


def _compile(jar: Path) -> None:
    ran = _run_compiler(jar)
    if ran.returncode != 0 or not jar.exists():
        raise PlantError(f"the Scala compiler failed on {SOURCES}: {_first_error(ran.stdout)}")


def _first_error(output: str) -> str:
    return next((line for line in output.splitlines() if "error:" in line), None) or cause_in(output)


def _run_compiler(target: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(find_java().executable), "-Xss8m", "-XX:TieredStopAtLevel=1", "-cp", f"{_jars()}/*"]
    command += ["scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(target), *map(str, _sources())]
    return run_guarded(command, _COMPILE_TIMEOUT_S)
