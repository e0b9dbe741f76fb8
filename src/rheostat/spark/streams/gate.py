"""Where a query waits for input, and where it is stopped between two batches."""

import threading
import time
from collections.abc import Callable

_PATIENCE_S = 0.25
_LOOK_EVERY_S = 0.005


class Gate:
    """One for each query. Spark asks its sources without pause for news; here they wait for it instead.

    A source that reads several streams waits for any of them. Closed, the gate lets nothing new through: the
    query finishes the batch under way and then has nothing to do.
    """

    def __init__(self) -> None:
        self._news: list[Callable[[], bool]] = []
        self._closed = threading.Event()
        self._quiet = threading.Event()
        self.error: Exception | None = None
        """Why a source of the query could not go on."""

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def close(self) -> None:
        self._closed.set()

    @property
    def is_quiet(self) -> bool:
        """Closed, and the query came by since then: its last batch is committed and it has no other."""
        return self._quiet.is_set()

    def fail(self, error: Exception) -> None:
        """A source of the query cannot go on."""
        self.error = error

    def watch(self, has_news: Callable[[], bool]) -> None:
        """Let the query through when `has_news` says so."""
        self._news.append(has_news)

    def wait(self) -> bool:
        """Wait for news, but not for long: Spark has other things to do with a query. True if it may read on."""
        deadline = time.monotonic() + _PATIENCE_S
        while not self.closed and not any(has_news() for has_news in self._news) and time.monotonic() < deadline:
            self._closed.wait(_LOOK_EVERY_S)
        if self.closed:
            self._quiet.set()
        return not self.closed
