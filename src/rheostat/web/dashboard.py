"""Dashboard: the page of one run, served from the start of the run until it is closed."""

import secrets
import threading
from typing import Self

from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.turn import Turn
from rheostat.web.address import LOOPBACK, in_url, is_loopback, listening_socket
from rheostat.web.feed import Feed
from rheostat.web.metrics import RunMetrics
from rheostat.web.news import News
from rheostat.web.server import PageServer
from rheostat.web.steering import Steering

_POLL_S = 0.2


class Dashboard:
    """Serves the page of the run in `journal` at `address` (HOST:PORT) from now on, in threads of its own.

    As a listener of a controller it shows each turn at once, and has its metrics at /metrics. `steer` lets whoever has
    the token steer that controller. A `recorded` run is one that another process writes, or has written.
    """

    def __init__(self, journal: Journal, address: str = LOOPBACK, *, recorded: bool = False) -> None:
        listening = listening_socket(address)
        self._journal, self._reader = journal, journal.reader()
        self._news = News(self._reader, recorded=recorded)
        self._feed, self._metrics = Feed(self._news.change), RunMetrics()
        self.token = secrets.token_urlsafe(16)
        host, port = listening.getsockname()[:2]
        self.is_local = is_loopback(host)
        self.url = f"http://{in_url(host)}:{port}/"
        self._server = PageServer(
            listening, self._news, self._feed, self.token, None if recorded else self._metrics.text
        )
        threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="rheostat-dashboard", daemon=True
        ).start()

    @property
    def steering_url(self) -> str:
        """The address with the token, which is never sent as part of an address: it stands behind the #."""
        return f"{self.url}#token={self.token}"

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return self._feed.pages

    def steer(self, controller: Controller, *, only_dry: bool = False) -> None:
        """Take requests for `controller`; with `only_dry` its dry run is never ended."""
        self._metrics.topology = controller.goal.topology.name
        self._news.steering = Steering(controller, only_dry=only_dry)

    def __call__(self, turn: Turn) -> None:
        self._metrics(turn)
        self._feed.wake()

    def finish(self) -> None:
        """The run has ended: pages show it as finished. It is still served."""
        self._news.finished = True
        self._feed.wake()

    def close(self) -> None:
        """Tell all pages that the run has ended, and serve no longer."""
        self._news.finished = True
        self._feed.stop()
        self._server.shutdown()
        self._server.server_close()
        if self._reader is not self._journal:
            self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
