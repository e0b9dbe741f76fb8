"""One Spark daemon (a master or a worker) as a process with a log."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

MASTER_CLASS = "org.apache.spark.deploy.master.Master"
WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"

_DAEMON_MEMORY = "256m"
_DAEMON_JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""A master or worker does little: one thread of collection, and no time spent on optimising code."""

_KEPT = frozenset({"SPARK_DIST_CLASSPATH", "SPARK_SCALA_VERSION"})
_EXCEPTION = re.compile(r"(?:Caused by: )?[\w.$]*(?:Exception|Error)\b.*")
_TAIL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Daemon:
    """A running master or worker."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def service_port(self, service: str) -> int | None:
        """The port Spark chose for `service`, once the log tells it."""
        match = re.search(rf"started service '{service}' on port (\d+)", self.log_text())
        return int(match[1]) if match else None

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def why_it_died(self) -> str | None:
        """The exit code and the first cause in the log, or None while it runs."""
        code = self.process.poll()
        return None if code is None else f"exited with code {code}: {cause_in(self.log_text())}"


def start_daemon(name: str, arguments: Sequence[str], environ: Mapping[str, str], log: Path, group: int) -> Daemon:
    """Run `spark-class` with `arguments` in the process group `group`, its output in `log`.

    The log of an earlier run is kept beside it: ports are read from the log, and must be this run's.
    """
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(spark_home() / "bin" / "spark-class"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            process_group=group,
        )
    return Daemon(name, process, log)


def daemon_environment(host: str, conf: Path, scratch: Path) -> dict[str, str]:
    """The environment of a daemon at `host`; what the user set for other Sparks must not reach it."""
    inherited = {key: value for key, value in os.environ.items() if _is_neutral(key)}
    return inherited | {
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(scratch),
        "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
        "SPARK_DAEMON_JAVA_OPTS": _DAEMON_JAVA_OPTIONS,
    }


def spark_home() -> Path:
    """The Spark that a session in this process would use."""
    return Path(_find_spark_home())


def cause_in(log: str) -> str:
    """The line of a log that most likely says why its process ended."""
    lines = [line.strip() for line in log[-_TAIL_BYTES:].splitlines() if line.strip()]
    causes = [line for line in lines if _EXCEPTION.match(line)] or [line for line in lines if " ERROR " in line]
    return (causes or lines[-1:] or ["its log is empty"])[0][:300]


def _is_neutral(variable: str) -> bool:
    return variable in _KEPT or not variable.startswith(("SPARK_", "_SPARK", "PYSPARK_"))
