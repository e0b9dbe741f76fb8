"""Server of the forecasting service: listens until the process is interrupted."""

import socket
from collections.abc import Callable
from contextlib import suppress

from rheostat.errors import ConfigError
from rheostat.serve.service import make_service

_SHUTDOWN_TIMEOUT_S = 5
"""How long requests in progress may continue after an interrupt."""


def serve(host: str, port: int, started: Callable[[str], None]) -> None:
    """Listen at `host` and `port` (0: any free one) until the process is interrupted; `started` gets the address.

    Requests in progress are answered first.
    """
    service = make_service()
    import uvicorn

    with _bound(host, port) as listening:
        name, actual = listening.getsockname()[:2]
        started(f"http://[{name}]:{actual}" if ":" in name else f"http://{name}:{actual}")
        config = uvicorn.Config(service, log_level="warning", timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConfigError(f"cannot listen at {host!r}, port {port}: {error}; choose another host or port") from None
