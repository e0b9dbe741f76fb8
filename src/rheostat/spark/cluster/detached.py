"""Detached cluster: an embedded cluster that outlives the command that started it, known by its folder.

A holder process owns the cluster and waits for a signal to stop. It holds a lock on a file in the folder as long as it
lives. The lock tells whether the cluster runs, so no stale file or reused process id can mislead.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rheostat.duration import Duration, human, positive_seconds
from rheostat.errors import PlantError, RheostatError
from rheostat.filelock import FileLock, is_locked
from rheostat.spark.cluster.address import ClusterAddress
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.folder import write_private
from rheostat.spark.cluster.node import Node, nodes_alike
from rheostat.spark.cluster.status import ClusterStatus, cluster_status
from rheostat.spark.install.jvm_extras import JvmExtras

_POLL_S = 0.1
_STOP_TIMEOUT_S = 30.0
_HOLDER_START_TIMEOUT_S = 60.0


class HeldCluster(msgspec.Struct, frozen=True):
    """A running cluster as its holder records it in the folder; only the owner can read the file."""

    pid: int
    master_url: str
    web_url: str
    secret: str
    helpers: str | None
    archive: str | None
    nodes: tuple[Node, ...]

    @property
    def jvm_extras(self) -> JvmExtras:
        helpers, archive = (Path(file) if file else None for file in (self.helpers, self.archive))
        return JvmExtras(helpers, archive)


class StartRequest(msgspec.Struct, frozen=True):
    """What the holder is asked to start."""

    nodes: tuple[Node, ...]
    port: int
    deadline_s: float


def start_detached(
    directory: Path | str,
    nodes: Iterable[Node] | None = None,
    *,
    port: int = 0,
    deadline: Duration = "2m",
) -> ClusterStatus:
    """Start a cluster in `directory` and return once it is ready; it runs until `stop`.

    `PlantError` if one runs there already, or if it does not start; nothing is left running then.
    """
    folder = Path(directory).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_running(folder):
        raise PlantError(f"a cluster is already running in {folder}: stop it first, or use another folder")
    chosen = nodes_alike(2) if nodes is None else tuple(nodes)
    request = StartRequest(chosen, port, positive_seconds(deadline, "deadline"))
    _record_file(folder).unlink(missing_ok=True)
    write_private(_request_file(folder), msgspec.json.encode(request).decode())
    holder = _start_holder(folder)
    try:
        _await_record(folder, holder, request.deadline_s)
    except BaseException:
        holder.terminate()
        holder.wait()
        raise
    return status(folder)


def status(directory: Path | str) -> ClusterStatus:
    """Nodes and applications of the cluster in `directory`; `PlantError` if none runs there."""
    held = held_cluster(directory)
    return cluster_status(_address(directory, held), held.nodes)


def connect(directory: Path | str) -> ClusterAddress:
    """What `build_session` needs to run on the cluster in `directory`."""
    return _address(directory, held_cluster(directory))


def conf_folder(directory: Path | str) -> Path:
    """The folder that is SPARK_CONF_DIR for a driver program of one's own on the cluster in `directory`."""
    return Path(directory).absolute() / "conf"


def stop(directory: Path | str) -> None:
    """End the cluster in `directory` and everything that runs on it; `PlantError` if none runs there."""
    folder = Path(directory).absolute()
    pid = held_cluster(folder).pid
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        if _await_end(folder):
            return
    raise PlantError(f"the cluster in {folder} does not stop: its process {pid} survives SIGKILL")


def is_running(directory: Path | str) -> bool:
    """Whether a cluster runs, or is starting, in `directory`."""
    return is_locked(_lock_file(Path(directory)))


def held_cluster(directory: Path | str) -> HeldCluster:
    """The record of the cluster that runs in `directory`; `PlantError` if none does."""
    folder = Path(directory).absolute()
    if not is_running(folder):
        raise PlantError(f"no cluster is running in {folder}")
    try:
        return msgspec.json.decode(_record_file(folder).read_bytes(), type=HeldCluster)
    except FileNotFoundError:
        raise PlantError(f"the cluster in {folder} is still starting (logs: {folder / 'logs'})") from None


def hold(folder: Path) -> None:
    """Run the cluster that is requested in `folder` until a signal to stop or the master's end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit())
    request = msgspec.json.decode(_request_file(folder).read_bytes(), type=StartRequest)
    cluster = EmbeddedCluster(request.nodes, directory=folder, port=request.port, deadline=request.deadline_s)
    with FileLock(_lock_file(folder)) as lock:
        if lock.held_by_another:
            raise PlantError(f"a cluster is already running in {folder}")
        try:
            with cluster:
                _write_record(folder, cluster)
                while cluster.is_up:
                    time.sleep(1.0)
                raise PlantError(f"the master of the cluster in {folder} has ended (logs: {cluster.logs})")
        finally:
            _record_file(folder).unlink(missing_ok=True)


def _start_holder(folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "holder.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _await_record(folder: Path, holder: "subprocess.Popen[bytes]", deadline_s: float) -> None:
    # The holder keeps the deadline itself and reports why it failed; beyond that it needs time to start and to end.
    end = time.monotonic() + deadline_s + _HOLDER_START_TIMEOUT_S
    while not _record_file(folder).exists():
        if holder.poll() is not None:
            raise PlantError(_last_log_line(folder))
        if time.monotonic() > end:
            raise PlantError(f"no cluster in {folder} after {human(deadline_s)} (logs: {folder / 'logs'})")
        time.sleep(_POLL_S)


def _last_log_line(folder: Path) -> str:
    lines = (folder / "holder.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else f"the cluster in {folder} ended without a message (logs: {folder / 'logs'})"


def _await_end(folder: Path) -> bool:
    end = time.monotonic() + _STOP_TIMEOUT_S
    while is_running(folder):
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_S)
    return True


def _address(directory: Path | str, held: HeldCluster) -> ClusterAddress:
    logs = Path(directory).absolute() / "logs"
    return ClusterAddress(held.master_url, held.web_url, logs, held.secret, held.jvm_extras)


def _write_record(folder: Path, cluster: EmbeddedCluster) -> None:
    address = cluster.address
    helpers, archive = address.jvm_extras.helpers, address.jvm_extras.archive
    held = HeldCluster(
        pid=os.getpid(),
        master_url=address.master_url,
        web_url=address.web_url,
        secret=address.secret,
        helpers=str(helpers) if helpers else None,
        archive=str(archive) if archive else None,
        nodes=cluster.nodes,
    )
    write_private(_record_file(folder), msgspec.json.encode(held).decode())


def _record_file(folder: Path) -> Path:
    return folder / "cluster.json"


def _request_file(folder: Path) -> Path:
    return folder / "request.json"


def _lock_file(folder: Path) -> Path:
    return folder / "lock"


if __name__ == "__main__":
    try:
        hold(Path(sys.argv[1]))
    except RheostatError as error:
        sys.exit(str(error))
