"""An embedded cluster that outlives the command that started it, known by the folder it lives in.

A holder process owns the cluster and waits to be told to stop. It holds a lock on a file in the folder for as
long as it lives: the lock says whether the cluster runs, and no stale file or reused process id can lie.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import msgspec

from rheostat.duration import Duration, human, positive_seconds
from rheostat.errors import PlantError, RheostatError
from rheostat.spark.cluster.embedded import (
    ClusterAddress,
    ClusterStatus,
    EmbeddedCluster,
    status_of,
    write_private,
)
from rheostat.spark.cluster.node import Node, nodes_alike
from rheostat.spark.install.jvm_extras import JvmExtras

_POLL_S = 0.1
_STOP_DEADLINE_S = 30.0


class State(msgspec.Struct, frozen=True):
    """What the folder remembers of a running cluster; only its owner can read it."""

    pid: int
    master_url: str
    web_url: str
    secret: str
    helpers: str | None
    archive: str | None
    nodes: tuple[Node, ...]

    @property
    def kit(self) -> JvmExtras:
        helpers, archive = (Path(file) if file else None for file in (self.helpers, self.archive))
        return JvmExtras(helpers, archive)


class Order(msgspec.Struct, frozen=True):
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
    folder = _private(Path(directory).absolute())
    if is_running(folder):
        raise PlantError(f"a cluster is already running in {folder}: stop it first, or use another folder")
    chosen = nodes_alike(2) if nodes is None else tuple(nodes)
    order = Order(chosen, port, positive_seconds(deadline, "deadline"))
    _state_file(folder).unlink(missing_ok=True)
    write_private(folder / "order.json", msgspec.json.encode(order).decode())
    holder = _start_holder(folder)
    try:
        _await_state(folder, holder, order.deadline_s)
    except BaseException:
        holder.terminate()
        holder.wait()
        raise
    return status(folder)


def status(directory: Path | str) -> ClusterStatus:
    """Nodes and applications of the cluster in `directory`; `PlantError` if none runs there."""
    state = _state(Path(directory).absolute())
    return status_of(_address(directory, state), state.nodes)


def connect(directory: Path | str) -> ClusterAddress:
    """What `build_session` needs to run on the cluster in `directory`."""
    return _address(directory, _state(Path(directory).absolute()))


def stop(directory: Path | str) -> None:
    """End the cluster in `directory` and everything that runs on it; `PlantError` if none runs there."""
    folder = Path(directory).absolute()
    pid = _state(folder).pid
    for order in (signal.SIGTERM, signal.SIGKILL):
        _signal(pid, order)
        if _await_unlocked(folder):
            return
    raise PlantError(f"the cluster in {folder} does not stop: its process {pid} survives SIGKILL")


def is_running(directory: Path | str) -> bool:
    """Whether a holder lives in `directory`."""
    try:
        with _lock_file(Path(directory)).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _start_holder(folder: Path) -> "subprocess.Popen[bytes]":
    with (folder / "holder.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _await_state(folder: Path, holder: "subprocess.Popen[bytes]", deadline_s: float) -> None:
    # The holder keeps the deadline itself and says why it failed; the minute is for its own start and end.
    end = time.monotonic() + deadline_s + 60.0
    while not _state_file(folder).exists():
        if holder.poll() is not None:
            raise PlantError(_last_words(folder))
        if time.monotonic() > end:
            raise PlantError(f"no cluster in {folder} after {human(deadline_s)} (logs: {folder / 'logs'})")
        time.sleep(_POLL_S)


def _last_words(folder: Path) -> str:
    lines = (folder / "holder.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else f"the cluster in {folder} ended without a word (logs: {folder / 'logs'})"


def _await_unlocked(folder: Path) -> bool:
    end = time.monotonic() + _STOP_DEADLINE_S
    while is_running(folder):
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_S)
    return True


def _state(folder: Path) -> State:
    if not is_running(folder):
        raise PlantError(f"no cluster is running in {folder}")
    try:
        return msgspec.json.decode(_state_file(folder).read_bytes(), type=State)
    except FileNotFoundError:
        raise PlantError(f"the cluster in {folder} is still starting (logs: {folder / 'logs'})") from None


def _address(directory: Path | str, state: State) -> ClusterAddress:
    return ClusterAddress(state.master_url, state.web_url, Path(directory).absolute() / "logs", state.secret, state.kit)


def _state_file(folder: Path) -> Path:
    return folder / "cluster.json"


def _lock_file(folder: Path) -> Path:
    return folder / "lock"


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def hold(folder: Path) -> None:
    """Run the cluster that the folder's order asks for, until a signal to stop or the master's end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit())
    order = msgspec.json.decode((folder / "order.json").read_bytes(), type=Order)
    cluster = EmbeddedCluster(order.nodes, directory=folder, port=order.port, deadline=order.deadline_s)
    with _locked(folder):
        try:
            with cluster:
                _announce(folder, cluster)
                while cluster.is_up:
                    time.sleep(1.0)
                raise PlantError(f"the master of the cluster in {folder} has ended (logs: {cluster.logs})")
        finally:
            _state_file(folder).unlink(missing_ok=True)


def _locked(folder: Path) -> IO[bytes]:
    file = _lock_file(folder).open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PlantError(f"a cluster is already running in {folder}") from None
    return file


def _announce(folder: Path, cluster: EmbeddedCluster) -> None:
    at = cluster.address
    state = State(
        pid=os.getpid(),
        master_url=at.master_url,
        web_url=at.web_url,
        secret=at.secret,
        helpers=str(at.kit.helpers) if at.kit.helpers else None,
        archive=str(at.kit.archive) if at.kit.archive else None,
        nodes=cluster.nodes,
    )
    write_private(_state_file(folder), msgspec.json.encode(state).decode())


if __name__ == "__main__":
    try:
        hold(Path(sys.argv[1]))
    except RheostatError as error:
        sys.exit(str(error))
