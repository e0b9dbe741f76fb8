"""Batch admission: where a query waits for input, and where it is held between two batches when it must stop."""

import threading
import time
from collections.abc import Callable

_WAIT_S = 0.25
"""Short, since Spark does other work for the query between two questions."""
_POLL_S = 0.005


class BatchAdmission:
    """Decides when a query may start its next batch; one for each query, shared by the readers of its streams.

    Spark asks sources for new data without pause; here they wait for it, until any of the streams has some. Once
    closed, no further batch is admitted: the query finishes the one under way and is then idle.
    """

    def __init__(self) -> None:
        self._has_input: list[Callable[[], bool]] = []
        self._closed = threading.Event()
        self._idle = threading.Event()
        self.error: Exception | None = None
        """Why a stream of the query cannot be read any more."""

    def close(self) -> None:
        self._closed.set()

    @property
    def is_idle(self) -> bool:
        """Whether it is closed and the query has asked since then: its last batch is committed and no other starts."""
        return self._idle.is_set()

    def fail(self, error: Exception) -> None:
        """A stream of the query cannot be read any more."""
        self.error = error

    def watch(self, has_input: Callable[[], bool]) -> None:
        """Admit a batch when `has_input` says so."""
        self._has_input.append(has_input)

    def wait_for_input(self) -> bool:
        """Wait a moment for input. True if the next batch may start, even without input."""
        deadline_s = time.monotonic() + _WAIT_S
        while not self._closed.is_set() and not self._any_input() and time.monotonic() < deadline_s:
            self._closed.wait(_POLL_S)
        if self._closed.is_set():
            self._idle.set()
            return False
        return True

    def _any_input(self) -> bool:
        return any(has_input() for has_input in self._has_input)
