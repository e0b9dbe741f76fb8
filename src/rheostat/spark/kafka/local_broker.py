"""Local broker: Apache Kafka in one process on this machine, for tests, benchmarks and first steps.

It is Kafka's own server, fetched by Maven. One process is broker and controller (KRaft), listens on the loopback
interface only, and ends when this process does.
"""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pyspark

from rheostat.errors import PlantError
from rheostat.spark.install.java import find_java
from rheostat.spark.install.maven import are_fetched, maven_jars
from rheostat.spark.processes.process_guard import ProcessGuard, run_guarded

VERSION = "4.1.0"
_COORDINATES = (f"org.apache.kafka:kafka_2.13:{VERSION}", f"org.apache.kafka:kafka-tools:{VERSION}")
_CONNECTOR = ("org.apache.spark:spark-sql-kafka-0-10_2.13", "org.apache.spark:spark-token-provider-kafka-0-10_2.13")
_CONNECTOR_NEEDS = ("org.apache.kafka:kafka-clients:3.9.1", "org.apache.commons:commons-pool2:2.12.1")
_KNOWN_TO_WORK = ("4.2.0", "4.0.0")
_JAVA_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx384m")
_CLUSTER_ID = "cmhlb3N0YXQta2Fma2EtMA"
_START_TIMEOUT_S = 90.0
_TOOL_TIMEOUT_S = 120.0
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners={protocol}://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={protocol}://127.0.0.1:{broker}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,{protocol}:{protocol}
inter.broker.listener.name={protocol}
controller.listener.names=CONTROLLER
log.dirs={logs}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
offsets.topic.num.partitions=1
auto.create.topics.enable=false
log.retention.check.interval.ms=1000
log.segment.delete.delay.ms=1000
"""
_OPEN, _LOGIN = "PLAINTEXT", "SASL_PLAINTEXT"
_MODULE = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="local" password="{password}"'
_LOGIN_SETTINGS = f"""\
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={_MODULE} user_local="{{password}}";
"""


def connector_jars() -> list[Path]:
    """The jars of Spark's connector for Kafka, by Maven: for the installed Spark or, if there are none, for an earlier
    one that is known to work with it."""
    wanted, known = (
        [*(f"{name}:{version}" for name, version in zip(_CONNECTOR, versions, strict=True)), *_CONNECTOR_NEEDS]
        for versions in ((pyspark.__version__, pyspark.__version__), _KNOWN_TO_WORK)
    )
    if are_fetched(known, transitive=False):  # what could not be had before is not asked for every time
        return maven_jars(known, transitive=False)
    try:
        return maven_jars(wanted, transitive=False)
    except PlantError:
        return maven_jars(known, transitive=False)


class LocalBroker:
    """A broker at `address` with empty topics, until `stop` or the end of the block. `kill` and `start` keep its data.

    With a `password` clients must log in, for which Spark's connector needs the `login_options`. Raises a `PlantError`
    where there is no Maven.
    """

    def __init__(self, password: str | None = None) -> None:
        self._class_path = ":".join(map(str, maven_jars(_COORDINATES)))
        self._java = str(find_java().executable)
        self._folder = Path(tempfile.mkdtemp(prefix="rheostat-kafka-"))
        self._guard = ProcessGuard([self._folder])
        port, controller = _free_ports(2)
        self.address = f"127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = self._folder / "server.properties"
        self.login_options = {} if password is None else _login_options(password)
        settings = _SETTINGS + ("" if password is None else _LOGIN_SETTINGS)
        settings = settings.format(
            broker=port,
            controller=controller,
            logs=self._folder / "logs",
            protocol=_OPEN if password is None else _LOGIN,
            password=password,
        )
        self._settings.write_text(settings, encoding="utf-8")
        try:
            self.tool("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._settings))
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self) -> None:
        """Start it, and return when it answers."""
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command("kafka.Kafka", str(self._settings)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=self._guard.group,
            )
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while not _answers(self.address):
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                raise PlantError(f"the Kafka broker did not start: {self._log_end()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it, and remove its data."""
        self.kill()
        self._guard.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def tool(self, class_name: str, *arguments: str) -> str:
        """What one of Kafka's own command line tools prints."""
        ran = run_guarded(self.command(class_name, *arguments), _TOOL_TIMEOUT_S)
        if ran.returncode != 0:
            raise PlantError(f"{class_name} failed: {ran.stdout[-500:]}")
        return ran.stdout

    def command(self, class_name: str, *arguments: str) -> Sequence[str]:
        """The command that runs one of Kafka's own programs."""
        return [self._java, *_JAVA_OPTIONS, "-cp", self._class_path, class_name, *arguments]

    def _log_end(self) -> str:
        return (self._folder / "broker.log").read_text(errors="replace")[-1000:]


def _login_options(password: str) -> dict[str, str]:
    return {
        "kafka.security.protocol": _LOGIN,
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f"{_MODULE.format(password=password)};",
    }


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _answers(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True
