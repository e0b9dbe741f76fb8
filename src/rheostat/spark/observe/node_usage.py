"""Node usage: the machines that hold executors, their slots, and how busy they are.

Spark's driver does not know how busy another machine is. For the driver's own machine (the embedded cluster, a
single-node one) the kernel tells; for all others it is unknown, and `problems` says so.
"""

import os
import socket
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from rheostat.snapshot import NodeState
from rheostat.spark.observe.status_store import ExecutorSummary

_PROC = Path("/proc")
_IDLE, _IO_WAIT = 3, 4


class _Times(NamedTuple):
    """Processor time of this machine so far, in ticks."""

    total: int
    idle: int
    io_wait: int


class NodeUsage:
    """The hosts of all executors that were seen. `names` has the node names of hosts that have one.

    `cores` has the hosts of a known cluster and the cores that each offers; they are listed without executors too.
    """

    def __init__(
        self, names: Mapping[str, str] | None = None, cores: Mapping[str, int] | None = None, proc: Path = _PROC
    ) -> None:
        self.names = dict(names or {})
        self._cores = dict(cores or {})
        self._proc = proc
        self._slots: dict[str, int] = dict.fromkeys(self._cores, 0)
        self._last = _times(proc)

    def see(self, executors: Iterable[ExecutorSummary]) -> None:
        """`executors` are all that live now. A host stays listed when its executors have gone."""
        self._slots = dict.fromkeys(self._slots, 0)
        for executor in (each for each in executors if each.host):  # a new one has no address yet
            self._slots[executor.host] = self._slots.get(executor.host, 0) + executor.slots

    def read(self) -> tuple[NodeState, ...]:
        """How busy they were since the last reading. `slots` are the host's cores if they are known, else the slots of
        its executors."""
        now, before = _times(self._proc), self._last
        self._last = now
        cpu, io_wait = (None, None) if now is None or before is None else _shares(before, now)
        memory_bytes, memory = _memory(self._proc)
        use = (memory_bytes, cpu, memory, io_wait)
        return tuple(
            NodeState(self.names.get(host, host), self._cores.get(host, slots), self._cores_of(host), *use)
            if is_this_machine(host)
            else NodeState(self.names.get(host, host), self._cores.get(host, slots))
            for host, slots in sorted(self._slots.items())
        )

    def _cores_of(self, host: str) -> float:
        return float(self._cores.get(host) or os.cpu_count() or 1)

    def problems(self) -> tuple[str, ...]:
        elsewhere = sorted(self.names.get(host, host) for host in self._slots if not is_this_machine(host))
        if not elsewhere:
            return ()
        return (f"CPU and memory use of {', '.join(elsewhere)} is unknown: Spark reports none for other machines",)


def is_this_machine(host: str) -> bool:
    """Whether `host`, as Spark names it, is the machine of this process."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in ("localhost", socket.gethostname())


def _times(proc: Path) -> _Times | None:
    try:
        ticks = [int(text) for text in (proc / "stat").read_text().split("\n", 1)[0].split()[1:9]]
        return _Times(sum(ticks), ticks[_IDLE], ticks[_IO_WAIT])
    except (OSError, ValueError, IndexError):
        return None


def _shares(before: _Times, now: _Times) -> tuple[float | None, float | None]:
    """Shares of the processors that work and that wait for a disk; None before the kernel's clock has ticked."""
    passed = now.total - before.total
    if passed <= 0:
        return None, None
    waited = max(0, now.io_wait - before.io_wait)
    idle = max(0, now.idle - before.idle) + waited
    return max(0.0, 1 - idle / passed), min(1.0, waited / passed)


def _memory(proc: Path) -> tuple[int | None, float | None]:
    """Bytes of memory of this machine, and the share in use."""
    try:
        lines = dict(line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
        total, free = (int(lines[what].split()[0]) * 1024 for what in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return None, None
    return total, 1 - free / total
