"""Daemon: one Spark master or worker as a process with a log."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rheostat.spark.install.jvm_extras import JvmExtras
from rheostat.spark.install.spark_home import neutral_environment, spark_home
from rheostat.spark.processes.log_cause import cause_in

MASTER_CLASS = "org.apache.spark.deploy.master.Master"
WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"

_REAP_TIMEOUT_S = 10.0


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
        """The port that Spark chose for `service`, once it is in the log."""
        match = re.search(rf"started service '{service}' on port (\d+)", self.log_text())
        return int(match[1]) if match else None

    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def reap(self) -> None:
        """Collect its exit code after it was killed; one that hangs in the kernel is left."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=_REAP_TIMEOUT_S)

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


def daemon_environment(host: str, folder: Path, extras: JvmExtras) -> dict[str, str]:
    """The environment of a daemon at `host` that keeps its working files in `folder`.

    It has no configuration folder: settings come in a file, and a folder with files in it would be first on the class
    path, where the archive of classes does not expect it.
    """
    inherited = neutral_environment()
    return inherited | {
        "SPARK_CONF_DIR": str(folder / "none"),
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {extras.java_options}",
        **extras.class_path(inherited),
    }
