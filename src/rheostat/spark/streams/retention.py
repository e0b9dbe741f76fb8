"""When published batches may go: as soon as every reader is done with them."""

import threading
from collections.abc import Callable, Iterable

from rheostat.spark.streams.source import NOTHING_YET


class Retention:
    """Calls `remove` with the last position that all `readers` are done with, whenever it has grown.

    A reader is done when Spark will never again ask for the position, which is one batch after it was committed.
    After a restart nothing is removed until each reader has said so again.
    """

    def __init__(self, readers: Iterable[str], remove: Callable[[int], None]) -> None:
        self._done = dict.fromkeys(readers, NOTHING_YET)
        self._remove = remove
        self._removed = NOTHING_YET
        self._lock = threading.Lock()

    def release(self, reader: str, until: int) -> None:
        """`reader` is done with everything up to `until`."""
        with self._lock:
            self._done[reader] = max(self._done[reader], until)
            slowest = min(self._done.values())
            if slowest > self._removed:
                self._remove(slowest)
                self._removed = slowest
