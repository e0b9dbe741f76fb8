"""Watchdog: ends a group of processes when the process that started them is gone, however it ended.

Run as a script in a process group of its own, which the guarded processes join. Its standard input is a pipe from the
parent. A byte, or the end of file (which even SIGKILL of the parent causes), makes it kill the group and all
descendants, executors and their Python workers included. It uses only the standard library, so it starts at once and
imports nothing that could fail.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_KILL_TIMEOUT_S = 10.0
"""A process that hangs in the kernel may survive SIGKILL for longer; it is then left."""


class Process(NamedTuple):
    """One process in the process table."""

    parent: int
    group: int


def sweep(group: int, spare: Iterable[int] = ()) -> set[int]:
    """SIGKILL the processes of `group` and all that descend from them; return those that did not die.

    Groups that descendants made for themselves (Spark's Python daemons do) are remembered between rounds, so
    that a worker orphaned in one round is still found in the next.
    """
    groups, spared = {group}, set(spare)
    deadline = time.monotonic() + _KILL_TIMEOUT_S
    while (victims := group_members(groups, process_table()) - spared) and time.monotonic() < deadline:
        for pid in victims:
            _kill(pid)
        time.sleep(0.02)
    return victims


def group_members(groups: set[int], table: Mapping[int, Process]) -> set[int]:
    """The processes in `groups` and their descendants; groups that a descendant leads join `groups`."""
    found: set[int] = set()
    while True:
        more = {pid for pid, it in table.items() if it.group in groups or it.parent in found}
        groups.update(pid for pid in more if table[pid].group == pid)
        if more == found:
            return found
        found = more


def process_table() -> dict[int, Process]:
    """All processes that are not zombies."""
    return _table_from_proc() if os.path.exists("/proc/self/stat") else _table_from_ps()


def _table_from_proc() -> dict[int, Process]:
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    state, parent, group = file.read().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if state not in "ZX":
                table[int(name)] = Process(int(parent), int(group))
    return table


def _table_from_ps() -> dict[int, Process]:
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], capture_output=True, text=True, check=False)
    rows = (line.split() for line in listing.stdout.splitlines())
    return {int(row[0]): Process(int(row[1]), int(row[2])) for row in rows if not row[3].startswith("Z")}


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _await_end_of(parent: int) -> None:
    """Return when the parent writes to the pipe or is gone.

    A process forked off the parent may hold the pipe open after the parent's death, so the parent's id is checked too.
    """
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], 1.0)
        if readable:
            return


def main(parent: int, folders: list[str]) -> int:
    """Wait for the parent's end, kill the group, remove `folders`."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    _await_end_of(parent)
    left = sweep(os.getpgid(0), spare=[os.getpid()])
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
