"""A Spark standalone cluster of our own: a master and any number of workers on this machine.

For tests, demos and small pipelines. It listens on loopback only, takes free ports, and lets in only who
knows its random secret. When the process that started it is gone, so is the cluster, however that process
ended; `rheostat.spark.cluster.detached` keeps one running without us.
"""

import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from rheostat.duration import Duration, human, positive_seconds
from rheostat.errors import ConfigError, PlantError
from rheostat.spark.cluster.daemon import (
    MASTER_CLASS,
    WORKER_CLASS,
    Daemon,
    daemon_environment,
    start_daemon,
)
from rheostat.spark.cluster.master_page import MasterPage, read_master_page
from rheostat.spark.cluster.node import Node, check_distinct, nodes_alike
from rheostat.spark.install.java import find_java
from rheostat.spark.install.jvm_extras import JvmExtras, prepare_jvm_extras
from rheostat.spark.processes.process_guard import Guard

MASTER_HOST = "127.0.0.1"
_POLL_S = 0.05

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """What an application needs to run on the cluster."""

    master_url: str
    web_url: str
    logs: Path
    secret: str = field(repr=False)
    kit: JvmExtras


class NodeStatus(msgspec.Struct, frozen=True):
    """A node as the master sees it; `alive` is False when the master lost it or never had it."""

    name: str
    host: str
    alive: bool
    cores: int
    cores_used: int
    memory_mb: int
    memory_used_mb: int
    labels: tuple[str, ...]

    @property
    def cores_free(self) -> int:
        return self.cores - self.cores_used if self.alive else 0


class Application(msgspec.Struct, frozen=True):
    """An application that runs, or waits for executors, on the cluster."""

    id: str
    name: str
    cores: int
    state: str


class ClusterStatus(msgspec.Struct, frozen=True):
    """The cluster at one moment."""

    master_url: str
    web_url: str
    logs: str
    nodes: tuple[NodeStatus, ...]
    applications: tuple[Application, ...]


class EmbeddedCluster:
    """A cluster of `nodes` that lives as long as this object's `with` block (or until `stop`).

    `directory` takes logs and working files and stays; without one a temporary folder is used and removed
    after a clean end. `port` 0 is any free port. Without `use_kit` its JVMs are plain Spark's. Not to be
    shared between processes.

    >>> with EmbeddedCluster([Node("a", cores=2), Node("b", cores=2)]) as cluster:  # doctest: +SKIP
    ...     cluster.master_url
    'spark://127.0.0.1:40123'
    """

    def __init__(
        self,
        nodes: Iterable[Node] | None = None,
        *,
        directory: Path | str | None = None,
        port: int = 0,
        deadline: Duration = "2m",
        use_kit: bool = True,
    ) -> None:
        self._wanted = nodes_alike(2) if nodes is None else tuple(nodes)
        check_distinct(self._wanted)
        if not self._wanted:
            raise ConfigError("a cluster without nodes has no executors: give at least one Node")
        self._port = _checked_port(port)
        self._deadline_s = positive_seconds(deadline, "deadline")
        self._folder: Path | None = Path(directory).absolute() if directory is not None else None
        self._is_temporary = directory is None
        self._use_kit = use_kit
        self._kit = JvmExtras()
        self._secret = secrets.token_hex(32)
        self._guard: Guard | None = None
        self._master: Daemon | None = None
        self._workers: dict[str, Daemon] = {}
        self._nodes: dict[str, Node] = {}
        self._address: ClusterAddress | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(keep_logs=error is not None)

    def start(self) -> Self:
        """Start master and workers; return when every node has registered.

        Raises `PlantError`, with the reason and the folder of the logs, if one of them dies or the deadline
        passes; nothing is left running then.
        """
        if self._guard is not None:
            raise PlantError(f"the cluster at {self.address.master_url} is already running")
        find_java()
        self._kit = prepare_jvm_extras() if self._use_kit else JvmExtras()
        try:
            self._lay_out_folder()
            self._guard = Guard([self._subfolder("scratch"), self._subfolder("conf")])
            self._address = self._start_master()
            for node in self._wanted:
                self._start_worker(node)
            self._await_nodes([node.name for node in self._wanted])
        except BaseException:
            self.stop(keep_logs=True)
            raise
        return self

    def stop(self, *, keep_logs: bool = False) -> None:
        """End every process of the cluster, executors and their Python workers included.

        Stop the Spark session first: without executors its driver only reports failures. A second call does
        nothing.
        """
        if self._guard is not None:
            self._guard.end()
            self._reap()
            self._guard, self._master, self._address = None, None, None
            self._workers.clear()
            self._nodes.clear()
        if self._is_temporary and self._folder is not None and not keep_logs:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def add_node(self, node: Node) -> None:
        """Start one more worker, or start again one that died, and wait for it."""
        if node.name in self._workers and self._workers[node.name].process.poll() is None:
            raise ConfigError(f"node {node.name!r} is already running: give the new one another name")
        self._start_worker(node)
        self._await_nodes([node.name])

    @property
    def address(self) -> ClusterAddress:
        if self._address is None:
            raise PlantError("the cluster is not running: use it in a `with` block or call start()")
        return self._address

    @property
    def master_url(self) -> str:
        return self.address.master_url

    @property
    def is_up(self) -> bool:
        """Whether the master lives; nodes may be lost all the same."""
        return self._master is not None and self._master.process.poll() is None

    @property
    def logs(self) -> Path:
        """The folder with the daemons' logs and, below each node's name, the executors'."""
        return self._subfolder("logs")

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._nodes.values())

    def worker_pid(self, node: str) -> int:
        """The process of a node's worker, for those who want to see what its death does."""
        return self._workers[node].pid

    def status(self) -> ClusterStatus:
        """Nodes and applications as the master sees them now."""
        return status_of(self.address, self.nodes)

    def _subfolder(self, name: str) -> Path:
        if self._folder is None:
            raise PlantError("the cluster has no folder: it has not been started")
        return self._folder / name

    def _lay_out_folder(self) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="rheostat-cluster-"))
        for name in ("logs", "conf", "scratch"):
            (self._folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def _start_master(self) -> ClusterAddress:
        arguments = ["--host", MASTER_HOST, "--port", str(self._port), "--webui-port", "0"]
        self._master = master = self._start_daemon("master", MASTER_CLASS, arguments, MASTER_HOST, {})
        port = self._await(lambda: master.service_port("MasterUI"), "the master to start")
        web_url = f"http://{MASTER_HOST}:{port}"
        page = self._await(lambda: _page_of_ready_master(web_url), "the master to answer")
        self._write_conf("spark-defaults", {"spark.master": page.url} | self._authentication)
        return ClusterAddress(page.url, web_url, self.logs, self._secret, self._kit)

    def _start_worker(self, node: Node) -> None:
        # Spark tells nodes apart by their hosts, so each worker gets a loopback address of its own.
        names = list(dict.fromkeys([*self._nodes, node.name]))
        host = loopback_host(names.index(node.name) + 2)
        arguments = ["--host", host, "--port", "0", "--webui-port", "0", "--cores", str(node.cores)]
        arguments += ["--memory", f"{node.memory_mb}m", "--work-dir", str(self.logs / node.name)]
        resources = self._write_resources(node)
        daemon = self._start_daemon(node.name, WORKER_CLASS, arguments, host, resources, self.address.master_url)
        self._workers[node.name], self._nodes[node.name] = daemon, node

    def _start_daemon(
        self, name: str, kind: str, arguments: list[str], host: str, conf: dict[str, str], *last: str
    ) -> Daemon:
        assert self._guard is not None
        properties = self._write_conf(name, self._authentication | _DAEMON_CONF | conf)
        command = [kind, *arguments, "--properties-file", str(properties), *last]
        scratch = self._subfolder("scratch") / name
        environ = daemon_environment(host, scratch, self._kit)
        return start_daemon(name, command, environ, self.logs / f"{name}.log", self._guard.group)

    @property
    def _authentication(self) -> dict[str, str]:
        return {"spark.authenticate": "true", "spark.authenticate.secret": self._secret}

    def _write_conf(self, name: str, conf: dict[str, str]) -> Path:
        """The secret travels in files that only the owner can read, never in arguments."""
        path = self._subfolder("conf") / f"{name}.conf"
        write_private(path, "".join(f"{key} {value}\n" for key, value in conf.items()))
        return path

    def _write_resources(self, node: Node) -> dict[str, str]:
        """Labels as Spark resources of the worker, one unit for each executor that can fit on it."""
        units = [str(unit) for unit in range(node.cores)]
        offer = [
            {"id": {"componentName": "spark.worker", "resourceName": name}, "addresses": units}
            for name in node.resources
        ]
        path = self._subfolder("conf") / f"{node.name}.resources.json"
        path.write_bytes(msgspec.json.encode(offer))
        amounts = {f"spark.worker.resource.{name}.amount": str(node.cores) for name in node.resources}
        return amounts | {"spark.worker.resourcesFile": str(path)}

    def _await_nodes(self, names: list[str]) -> None:
        def all_alive() -> bool | None:
            page = read_master_page(self.address.web_url)
            seen = [_node_status(self._nodes[name], page) for name in names] if page is not None else []
            return (page is not None and all(node.alive for node in seen)) or None

        self._await(all_alive, f"node{'s'[: len(names) > 1]} {', '.join(names)} to register")

    def _await(self, look: Callable[[], T | None], what: str) -> T:
        """What `look` finds, unless a daemon dies or the deadline passes first."""
        end = time.monotonic() + self._deadline_s
        while (found := look()) is None:
            self._check_daemons()
            if time.monotonic() > end:
                raise self._error(f"waited {human(self._deadline_s)} for {what}")
            time.sleep(_POLL_S)
        return found

    def _check_daemons(self) -> None:
        for daemon in (self._master, *self._workers.values()):
            reason = daemon.why_it_died() if daemon is not None else None
            if daemon is not None and reason is not None:
                raise self._error(f"{daemon.name} {self._in_plain_words(reason)}")

    def _in_plain_words(self, reason: str) -> str:
        if "Address already in use" in reason:
            return f"found port {self._port} in use: choose another, or 0 for any free one"
        return reason

    def _error(self, what: str) -> PlantError:
        return PlantError(f"the embedded cluster did not start: {what} (logs: {self.logs})")

    def _reap(self) -> None:
        for daemon in (self._master, *self._workers.values()):
            if daemon is not None:
                daemon.reap()


_DAEMON_CONF = {
    "spark.port.maxRetries": "0",
    "spark.master.rest.enabled": "false",  # would take applications without the secret
    "spark.ui.killEnabled": "false",  # nor may a page without a secret end one
    "spark.master.ui.decommission.allow.mode": "DENY",
    "spark.executor.logs.rolling.strategy": "size",
    "spark.executor.logs.rolling.maxSize": str(16 * 1024 * 1024),
    "spark.executor.logs.rolling.maxRetainedFiles": "2",
}


def status_of(address: ClusterAddress, nodes: Iterable[Node]) -> ClusterStatus:
    """The state of the cluster at `address`, made of `nodes`; `PlantError` if its master does not answer."""
    page = read_master_page(address.web_url)
    if page is None:
        raise PlantError(f"the master at {address.web_url} does not answer (logs: {address.logs})")
    return ClusterStatus(
        master_url=address.master_url,
        web_url=address.web_url,
        logs=str(address.logs),
        nodes=tuple(_node_status(node, page) for node in nodes),
        applications=tuple(Application(a.id, a.name, a.cores, a.state) for a in page.activeapps),
    )


def _node_status(node: Node, page: MasterPage) -> NodeStatus:
    found = page.worker_offering(node.resources[0])
    if found is None:
        return NodeStatus(node.name, "", False, node.cores, 0, node.memory_mb, 0, node.labels)
    return NodeStatus(
        name=node.name,
        host=found.host,
        alive=found.state == "ALIVE",
        cores=found.cores,
        cores_used=found.coresused,
        memory_mb=found.memory,
        memory_used_mb=found.memoryused,
        labels=node.labels,
    )


def _page_of_ready_master(web_url: str) -> MasterPage | None:
    page = read_master_page(web_url)
    return page if page is not None and page.status == "ALIVE" else None


def loopback_host(number: int) -> str:
    """127.0.0.`number` where the system has it (Linux), else 127.0.0.1 (macOS without aliases)."""
    host = f"127.0.{number // 250}.{number % 250}"
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return MASTER_HOST
    return host


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)


def _checked_port(port: int) -> int:
    if not 0 <= port <= 65535:
        raise ConfigError(f"port {port} does not exist: give 0 (any free one) or 1024 to 65535")
    return port
