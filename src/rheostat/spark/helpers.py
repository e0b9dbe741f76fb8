"""The JVM helpers: a few lines of Scala, compiled on first use against the Spark that is installed.

The compiler comes with pyspark. The jar is cached by what went into it, so another Spark gets another jar.
Nothing depends on the helpers: without them the same results take longer, and the log says so.
"""

import logging
import subprocess
import tempfile
from pathlib import Path

from py4j.java_gateway import JVMView
from py4j.protocol import Py4JError

from rheostat.errors import PlantError
from rheostat.spark.cache import default_cache, fingerprint, private_folder
from rheostat.spark.cause import cause_in
from rheostat.spark.installed import spark_home
from rheostat.spark.java import find_java

SOURCES = Path(__file__).with_name("jvm")
FILE_SYSTEM = "rheostat.jvm.ForklessFileSystem"
ABSTRACT_FILE_SYSTEM = "rheostat.jvm.ForklessFs"
PIN = "org.apache.spark.sql.rheostat.Pin"

_COMPILE_DEADLINE_S = 300.0
_LOG = logging.getLogger(__name__)


def helpers_jar(cache: Path | None = None) -> Path:
    """The compiled helpers, compiling them if `cache` (by default the user's) does not have them.

    Several processes may do so at once: each compiles for itself and the last one's jar stays, whole.
    """
    folder = private_folder(cache or default_cache())
    jar = folder / f"helpers-{fingerprint(source.read_bytes() for source in _sources())}.jar"
    if not jar.exists():
        _compile(jar)
    return jar


def helpers_jar_or_none(cache: Path | None = None) -> Path | None:
    """As `helpers_jar`, but a failure is logged with what it costs, and the plain ways are used."""
    try:
        return helpers_jar(cache)
    except (PlantError, OSError) as error:
        _LOG.warning(
            "going on without the JVM helpers (%s): pools cost a pass through Python in each batch, and"
            " checkpoints on local disks a forked process for each file",
            error,
        )
        return None


def load_helpers(jvm: JVMView, jar: Path) -> bool:
    """Make the helpers known to a driver's JVM, running already or not; False if it does not take them."""
    if is_loaded(jvm):
        return True
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
    except Py4JError as error:
        _LOG.warning("this driver's class loader takes no jar, going on without the JVM helpers: %s", error)
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
    with tempfile.TemporaryDirectory(prefix="compile-", dir=jar.parent) as workplace:
        draft = Path(workplace, jar.name)
        ran = _run_compiler(draft)
        if ran.returncode != 0 or not draft.exists():
            raise PlantError(f"the Scala compiler failed on {SOURCES}: {_first_error(ran.stdout)}")
        draft.replace(jar)


def _first_error(output: str) -> str:
    return next((line for line in output.splitlines() if "error:" in line), None) or cause_in(output)


def _run_compiler(target: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(find_java().executable), "-Xss8m", "-XX:TieredStopAtLevel=1", "-cp", f"{_jars()}/*"]
    command += ["scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(target), *map(str, _sources())]
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_COMPILE_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PlantError(f"the Scala compiler took longer than {_COMPILE_DEADLINE_S:.0f} s") from error
