"""Address: where the page is served, as a user writes it: HOST:PORT, HOST, or :PORT."""

import ipaddress
import socket

from rheostat.errors import ConfigError

LOOPBACK = "127.0.0.1"
DEFAULT_PORT = 8642


def listening_socket(address: str) -> socket.socket:
    """A socket that listens at `address`. If it names no port and the usual one is taken, any free one."""
    host, port = _parse(address)
    ports = (DEFAULT_PORT, 0) if port is None else (port,)
    for number, each in enumerate(ports, start=1):
        try:
            family = socket.getaddrinfo(host, each, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((host, each), family=family)
        except (OSError, UnicodeError) as error:
            if number == len(ports):
                why = getattr(error, "strerror", None) or error
                raise ConfigError(f"dashboard {address!r} cannot listen: {why}; choose another HOST:PORT") from None
    raise AssertionError("a socket or an error")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`, an IP address."""
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback


def in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _parse(address: str) -> tuple[str, int | None]:
    text = address.strip()
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if not port:
        return host or LOOPBACK, None
    if not port.isdigit() or not 0 <= int(port) <= 65535:
        raise ConfigError(f"dashboard {address!r} is no address: write HOST:PORT, e.g. {LOOPBACK}:{DEFAULT_PORT}")
    return host or LOOPBACK, int(port)


def address_of(dashboard: bool | str) -> str | None:
    """Where a dashboard is wanted: True for the usual place on this machine, False for none."""
    if isinstance(dashboard, str):
        _parse(dashboard)
        return dashboard
    return LOOPBACK if dashboard else None
