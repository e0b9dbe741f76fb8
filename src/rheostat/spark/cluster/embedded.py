"""Embedded cluster: a Spark standalone master and any number of workers on this machine.

For tests, demos and small pipelines. It listens on loopback only, takes free ports, and admits only applications that
have its random secret. It ends when the process that started it ends, however that happens;
`rheostat.spark.cluster.detached` keeps one running.
"""

import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from rheostat.duration import Duration, human, positive_seconds
from rheostat.errors import ConfigError, PlantError
from rheostat.spark.cluster.address import MASTER_HOST, ClusterAddress, loopback_host
from rheostat.spark.cluster.daemon import (
    MASTER_CLASS,
    WORKER_CLASS,
    Daemon,
    daemon_environment,
    start_daemon,
)
from rheostat.spark.cluster.folder import DRIVER_SETTINGS, ClusterFolder
from rheostat.spark.cluster.master_page import MasterPage, read_master_page
from rheostat.spark.cluster.node import Node, check_distinct, nodes_alike
from rheostat.spark.cluster.status import ClusterStatus, cluster_status, node_status
from rheostat.spark.install.java import find_java
from rheostat.spark.install.jvm_extras import JvmExtras, prepare_jvm_extras
from rheostat.spark.processes.process_guard import ProcessGuard

_POLL_S = 0.05
_DAEMON_SETTINGS = {
    "spark.port.maxRetries": "0",
    "spark.master.rest.enabled": "false",  # it would accept applications without the secret
    "spark.ui.killEnabled": "false",  # a page without a secret must not end one either
    "spark.master.ui.decommission.allow.mode": "DENY",
    "spark.executor.logs.rolling.strategy": "size",
    "spark.executor.logs.rolling.maxSize": str(16 * 1024 * 1024),
    "spark.executor.logs.rolling.maxRetainedFiles": "2",
}

_DRIVER_SETTINGS = {
    "spark.driver.host": MASTER_HOST,
    "spark.driver.bindAddress": MASTER_HOST,
    "spark.ui.enabled": "false",  # it would listen on all addresses
    "spark.executor.cores": "1",  # without a number the first executor takes its whole node
}
"""What a driver program needs besides the master and the secret to run here as `rheostat run` does."""

T = TypeVar("T")


class EmbeddedCluster:
    """A cluster of `nodes` that lives as long as this object's `with` block (or until `stop`).

    `directory` keeps logs and working files; without one a temporary folder is used and removed after a clean end.
    `port` 0 is any free port. Without `use_jvm_extras` its JVMs are plain Spark's. Not to be shared between processes.

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
        use_jvm_extras: bool = True,
    ) -> None:
        self._wanted = nodes_alike(2) if nodes is None else tuple(nodes)
        check_distinct(self._wanted)
        if not self._wanted:
            raise ConfigError("a cluster without nodes has no executors: give at least one Node")
        self._port = _checked_port(port)
        self._deadline_s = positive_seconds(deadline, "deadline")
        self._folder = ClusterFolder(directory)
        self._use_jvm_extras = use_jvm_extras
        self._jvm_extras = JvmExtras()
        self._secret = secrets.token_hex(32)
        self._guard: ProcessGuard | None = None
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

        Raises `PlantError`, with the reason and the folder of the logs, if one of them dies or the deadline passes;
        nothing is left running then.
        """
        if self._guard is not None:
            raise PlantError(f"the cluster at {self.address.master_url} is already running")
        find_java()
        self._jvm_extras = prepare_jvm_extras() if self._use_jvm_extras else JvmExtras()
        try:
            self._folder.create()
            self._guard = ProcessGuard([self._folder.scratch, self._folder.conf])
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

        Stop the Spark session first: without executors its driver only reports failures. A second call does nothing.
        """
        if self._guard is not None:
            self._guard.end()
            for daemon in self._daemons:
                daemon.reap()
            self._guard, self._master, self._address = None, None, None
            self._workers.clear()
            self._nodes.clear()
        if not keep_logs:
            self._folder.remove_temporary()

    def add_node(self, node: Node) -> None:
        """Start one more worker, or restart one that died, and wait for it."""
        if node.name in self._workers and self._workers[node.name].process.poll() is None:
            raise ConfigError(f"node {node.name!r} is already running: give the new one another name")
        self._workers = {name: worker for name, worker in self._workers.items() if worker.process.poll() is None}
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
        """Whether the master is alive; nodes may be lost all the same."""
        return self._master is not None and self._master.process.poll() is None

    @property
    def logs(self) -> Path:
        """The folder with the daemons' logs and, below each node's name, the executors'."""
        return self._folder.logs

    @property
    def conf(self) -> Path:
        """The folder that is SPARK_CONF_DIR for a driver program of one's own on this cluster."""
        return self._folder.conf

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._nodes.values())

    def worker_pid(self, node: str) -> int:
        """The process id of a node's worker, for tests of what its death does."""
        return self._workers[node].pid

    def status(self) -> ClusterStatus:
        """Nodes and applications as the master sees them now."""
        return cluster_status(self.address, self.nodes)

    def _start_master(self) -> ClusterAddress:
        arguments = ["--host", MASTER_HOST, "--port", str(self._port), "--webui-port", "0"]
        self._master = master = self._start_daemon("master", MASTER_CLASS, arguments, MASTER_HOST, {})
        port = self._await(lambda: master.service_port("MasterUI"), "the master to start")
        web_url = f"http://{MASTER_HOST}:{port}"
        page = self._await(lambda: _page_of_ready_master(web_url), "the master to answer")
        self._folder.write_settings(
            DRIVER_SETTINGS, {"spark.master": page.url} | self._authentication | _DRIVER_SETTINGS
        )
        return ClusterAddress(page.url, web_url, self.logs, self._secret, self._jvm_extras)

    def _start_worker(self, node: Node) -> None:
        # Spark distinguishes nodes by their hosts, so each worker gets a loopback address of its own.
        names = list(dict.fromkeys([*self._nodes, node.name]))
        host = loopback_host(names.index(node.name) + 2)
        arguments = ["--host", host, "--port", "0", "--webui-port", "0", "--cores", str(node.cores)]
        arguments += ["--memory", f"{node.memory_mb}m", "--work-dir", str(self.logs / node.name)]
        resources = self._folder.write_resources(node)
        daemon = self._start_daemon(node.name, WORKER_CLASS, arguments, host, resources, self.address.master_url)
        self._workers[node.name], self._nodes[node.name] = daemon, node

    def _start_daemon(
        self, name: str, kind: str, arguments: list[str], host: str, settings: dict[str, str], *last: str
    ) -> Daemon:
        assert self._guard is not None
        file = self._folder.write_settings(name, self._authentication | _DAEMON_SETTINGS | settings)
        command = [kind, *arguments, "--properties-file", str(file), *last]
        environ = daemon_environment(host, self._folder.scratch / name, self._jvm_extras)
        return start_daemon(name, command, environ, self.logs / f"{name}.log", self._guard.group)

    @property
    def _authentication(self) -> dict[str, str]:
        return {"spark.authenticate": "true", "spark.authenticate.secret": self._secret}

    def _await_nodes(self, names: list[str]) -> None:
        def all_alive() -> bool | None:
            page = read_master_page(self.address.web_url)
            found = [node_status(self._nodes[name], page) for name in names] if page is not None else []
            return (page is not None and all(node.alive for node in found)) or None

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

    @property
    def _daemons(self) -> list[Daemon]:
        return [*([self._master] if self._master else []), *self._workers.values()]

    def _check_daemons(self) -> None:
        for daemon in self._daemons:
            reason = daemon.why_it_died()
            if reason is not None and "Address already in use" in reason:
                reason = f"found port {self._port} in use: choose another, or 0 for any free one"
            if reason is not None:
                raise self._error(f"{daemon.name} {reason}")

    def _error(self, what: str) -> PlantError:
        return PlantError(f"the embedded cluster did not start: {what} (logs: {self.logs})")


def _page_of_ready_master(web_url: str) -> MasterPage | None:
    page = read_master_page(web_url)
    return page if page is not None and page.status == "ALIVE" else None


def _checked_port(port: int) -> int:
    if not 0 <= port <= 65535:
        raise ConfigError(f"port {port} does not exist: give 0 (any free one) or 1024 to 65535")
    return port
