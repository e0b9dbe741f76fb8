"""Clocks: real time, simulated time, and time that a test moves."""

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since some fixed moment, and a way to wait."""

    def now(self) -> float: ...

    def wait_until(self, time_s: float) -> bool:
        """Return True at `time_s`, False if `interrupt` ended the wait before."""
        ...

    def interrupt(self) -> None:
        """End the present wait, or the next one, early."""
        ...


class WallClock:
    """Seconds since the epoch, monotonic: a step of the system's clock does not change it."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()
        self._interrupted = threading.Event()

    def now(self) -> float:
        return time.monotonic() + self._offset

    def wait_until(self, time_s: float) -> bool:
        interrupted = self._interrupted.wait(max(0.0, time_s - self.now()))
        self._interrupted.clear()
        return not interrupted

    def interrupt(self) -> None:
        self._interrupted.set()


class ManualClock:
    """A clock that moves only when a caller waits."""

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_s = start_s

    def now(self) -> float:
        return self._now_s

    def wait_until(self, time_s: float) -> bool:
        self._now_s = max(self._now_s, time_s)
        return True

    def interrupt(self) -> None:
        """Waits take no time here, so there is nothing to end."""
