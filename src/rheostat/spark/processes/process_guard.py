"""Process guard: a group of processes that end when this one does, kept by a watchdog."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rheostat.errors import PlantError
from rheostat.spark.processes import watchdog


class ProcessGuard:
    """A process group whose members, and all that descend from them, end at `end` or with this process.

    `folders` are removed then. Start members with `process_group=guard.group`.
    """

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__, str(os.getpid()), *map(str, folders)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            process_group=0,
        )

    @property
    def group(self) -> int:
        return self._watchdog.pid

    def end(self) -> None:
        """Kill the group and its descendants, and return when they are gone."""
        assert self._watchdog.stdin is not None
        if self._watchdog.poll() is None:
            self._watchdog.stdin.write(b"\n")
        self._watchdog.stdin.close()
        if self._watchdog.wait() < 0:  # somebody killed the watchdog before it could do this
            watchdog.sweep(self._watchdog.pid)


def run_guarded(
    command: Sequence[str | Path], timeout_s: float, environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run `command` to its end, its two outputs as one text; `PlantError` when the timeout passes."""
    guard = ProcessGuard()
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environ,
            timeout=timeout_s,
            check=False,
            process_group=guard.group,
        )
    except subprocess.TimeoutExpired as error:
        raise PlantError(f"{Path(command[0]).name} took longer than {timeout_s:.0f} s") from error
    finally:
        guard.end()
