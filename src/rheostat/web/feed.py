"""Feed: what is new in a run, made once for all open pages, and only while there are any."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MOST_PAGES = 64
HEARTBEAT_S = 10.0
_MOST_WAITING = 100
_POLL_S = 1.0
_SHORTEST_S = 0.2
"""The least time between two messages: a fast simulation has many turns a second, and a page cannot show them."""

Inbox = queue.Queue[bytes | None]
"""The messages of one page; None ends it."""


class Feed:
    """Asks `news` for what is new whenever it is woken, and every second, and hands it to every open page."""

    def __init__(self, news: Callable[[], bytes | None]) -> None:
        self._news = news
        self._inboxes: set[Inbox] = set()
        self._mutex = threading.Lock()
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="rheostat-dashboard-feed", daemon=True)
        self._thread.start()

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return len(self._inboxes)

    def wake(self) -> None:
        """Something may be new."""
        self._woken.set()

    def stop(self) -> None:
        """Tell the last news, and end all pages."""
        self._stopped.set()
        self._woken.set()
        self._thread.join()
        with self._mutex:
            for inbox in self._inboxes:
                _put(inbox, None)

    @contextmanager
    def open(self) -> Iterator[Inbox | None]:
        """The inbox of a new page; None if there are too many."""
        inbox: Inbox = queue.Queue(_MOST_WAITING)
        with self._mutex:
            is_open = len(self._inboxes) < MOST_PAGES and not self._stopped.is_set()
            if is_open:
                self._inboxes.add(inbox)
        try:
            yield inbox if is_open else None
        finally:
            with self._mutex:
                self._inboxes.discard(inbox)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._woken.wait(_POLL_S)
            self._woken.clear()
            self._tell()
            self._stopped.wait(_SHORTEST_S)
        self._tell()

    def _tell(self) -> None:
        if not self._inboxes or (message := self._news()) is None:
            return
        with self._mutex:
            for inbox in list(self._inboxes):
                if not _put(inbox, message):  # it does not read: let it come again and ask for everything
                    self._inboxes.discard(inbox)
                    inbox.get_nowait()
                    _put(inbox, None)


def _put(inbox: Inbox, message: bytes | None) -> bool:
    try:
        inbox.put_nowait(message)
    except queue.Full:
        return False
    return True
