"""Server of the page: files of this package, what `News` has as JSON, its changes as server-sent events, and steering.

Reading needs no token on a loopback address, where only this machine can reach it; anywhere else, and for steering, it
does. Other sites cannot use it through a user's browser: it answers only to its own name, sends nothing that another
origin may read, and takes requests to steer only as JSON with the token in a header.
"""

import hmac
import logging
import math
import queue
import socket
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from urllib.parse import parse_qs, urlsplit

import msgspec

from rheostat.errors import RheostatError
from rheostat.web.address import is_loopback
from rheostat.web.feed import HEARTBEAT_S, Feed
from rheostat.web.news import News
from rheostat.web.steering import AnyRequest

_LOG = logging.getLogger("rheostat")

MOST_BYTES = 64 * 1024
"""The largest request to steer."""
_SOCKET_TIMEOUT_S = 30.0
_decode_request = msgspec.json.Decoder(AnyRequest).decode

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_JSON, _TEXT = "application/json", "text/plain; version=0.0.4; charset=utf-8"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class NotServedError(Exception):
    """A request that is answered with a reason."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """Answers at `listening`, each request in a thread of its own."""

    daemon_threads = True
    block_on_close = False

    def __init__(
        self, listening: socket.socket, news: News, feed: Feed, token: str, metrics: Callable[[], str] | None
    ) -> None:
        super().__init__(listening.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.news, self.feed, self.token, self.metrics = news, feed, token, metrics
        host, port = listening.getsockname()[:2]
        self.is_local = is_loopback(host)
        names = ("127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host)
        self.hosts = {f"{name}:{port}" for name in names}
        folder = files("rheostat.web") / "static"
        self.static = {f"/{each.name}": each.read_bytes() for each in folder.iterdir() if each.is_file()}
        self.static["/"] = self.static["/index.html"]

    def handle_error(self, request: object, client_address: object) -> None:
        """A page that goes away in the middle of an answer is nothing to report."""
        if not isinstance(sys.exception(), OSError):
            _LOG.warning("the dashboard could not answer", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "rheostat", ""
    timeout = _SOCKET_TIMEOUT_S

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged: the log belongs to the run."""

    def _answered(self, answer: Callable[[], None]) -> None:
        try:
            answer()
        except NotServedError as error:
            self._refuse(error.status, str(error))
        except RheostatError as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))

    def _get(self) -> None:
        address = urlsplit(self.path)
        self._check_host()
        if address.path in self.server.static:
            kind = _TYPES[address.path.rpartition(".")[2]] if "." in address.path else _TYPES["html"]
            return self._send(self.server.static[address.path], f"{kind}; charset=utf-8")
        if not self.server.is_local:
            self._check_token()
        if address.path == "/api/events":
            return self._stream()
        if address.path == "/metrics" and self.server.metrics is not None:
            return self._send(self.server.metrics().encode(), _TEXT)
        given = _Query(address.query)
        news = self.server.news
        match address.path:
            case "/api/run":
                found: object = news.opening()
            case "/api/timeline":
                found = news.timeline(
                    given.number("from", -math.inf), given.number("until", math.inf), int(given.number("points", 600))
                )
            case "/api/decisions":
                found = news.decisions(
                    before=given.whole("before"),
                    operator=given.text("operator"),
                    kind=given.text("kind"),
                    ruling=given.text("ruling"),
                )
            case "/api/actions":
                found = news.actions(given.number("from", -math.inf), given.number("until", math.inf))
            case "/api/state":
                found = news.state(given.time())
            case "/api/operator":
                found = news.operator(given.text("name"), given.time())
            case _:
                raise NotServedError(HTTPStatus.NOT_FOUND, f"there is nothing at {address.path}")
        self._send(msgspec.json.encode(found), _JSON)

    def _post(self) -> None:
        self._check_host()
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != self.headers.get("Host"):
            raise NotServedError(HTTPStatus.FORBIDDEN, f"requests from {origin} are not taken")
        if urlsplit(self.path).path != "/api/steer":
            raise NotServedError(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path}")
        self._check_token()
        if self.headers.get_content_type() != _JSON:
            raise NotServedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a request to steer is {_JSON}")
        body = self._body()
        steering = self.server.news.steering
        if steering is None or self.server.news.finished:
            raise NotServedError(HTTPStatus.CONFLICT, "this run is not steered from here: it is recorded, or has ended")
        try:
            request = _decode_request(body)
        except msgspec.DecodeError as error:
            raise NotServedError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None
        steering.do(request, self.client_address[0])
        self.server.feed.wake()
        self._send(msgspec.json.encode(self.server.news.controls()), _JSON)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise NotServedError(HTTPStatus.LENGTH_REQUIRED, "the length of the body is not given")
        if int(length) > MOST_BYTES:
            raise NotServedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is longer than {MOST_BYTES} bytes")
        return self.rfile.read(int(length))

    def _check_host(self) -> None:
        """On loopback, only the names of this machine: another name may belong to a site that points it here."""
        if self.server.is_local and self.headers.get("Host") not in self.server.hosts:
            raise NotServedError(HTTPStatus.FORBIDDEN, f"{self.headers.get('Host')!r} is not the name of this page")

    def _check_token(self) -> None:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not hmac.compare_digest(token.strip().encode(), self.server.token.encode()):
            raise NotServedError(HTTPStatus.UNAUTHORIZED, "this needs the token that was printed at the start")

    def _stream(self) -> None:
        with self.server.feed.open() as inbox:
            if inbox is None:
                raise NotServedError(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open")
            self._head(HTTPStatus.OK, "text/event-stream", None)
            self.wfile.write(b": open\n\n")
            self.server.feed.wake()
            while True:
                try:
                    message = inbox.get(timeout=HEARTBEAT_S)
                except queue.Empty:
                    self.wfile.write(b": still here\n\n")
                    continue
                if message is None:
                    return
                self.wfile.write(b"data: " + message + b"\n\n")

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._head(status, kind, len(body))
        self.wfile.write(body)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # a body may be unread
        self._send(msgspec.json.encode({"error": why}), _JSON, status)

    def _head(self, status: HTTPStatus, kind: str, length: int | None) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind}.items():
            self.send_header(name, value)
        if status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", "Bearer")
        if length is None or self.close_connection:
            self.close_connection = True
            self.send_header("Connection", "close")
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()


class _Query:
    """The values after the question mark."""

    def __init__(self, query: str) -> None:
        self._values = parse_qs(query, max_num_fields=20)

    def text(self, name: str) -> str:
        return self._values.get(name, [""])[0]

    def number(self, name: str, default: float) -> float:
        text = self.text(name)
        try:
            value = float(text) if text else default
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise NotServedError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{name} {text!r} is no number")
        return value

    def whole(self, name: str) -> int | None:
        return int(self.number(name, 0.0)) if self.text(name) else None

    def time(self) -> float | None:
        return self.number("at", 0.0) if self.text("at") else None
