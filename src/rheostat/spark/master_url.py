"""Master URL: whether a Spark master can be used, found out in seconds. Spark itself tries for over a minute, and its
launcher ends without a reason."""

import os
import socket

from rheostat.duration import human
from rheostat.errors import ConfigError, PlantError

_STANDALONE = "spark://"
_YARN_FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_CONNECT_TIMEOUT_S = 3.0


def check_master(url: str) -> None:
    """Refuse a standalone master that does not answer, and YARN without its configuration."""
    if url.startswith(_STANDALONE):
        _check_standalone(url)
    if url == "yarn" and not any(os.environ.get(name) for name in _YARN_FOLDERS):
        raise ConfigError(
            f"master yarn: neither {' nor '.join(_YARN_FOLDERS)} is set: set one to the folder with yarn-site.xml"
        )


def standalone_masters(url: str) -> list[tuple[str, int]]:
    """Host and port of each standalone master in `url` (`spark://a:7077,b:7077`); none for other kinds of master."""
    addresses = url.removeprefix(_STANDALONE).split(",") if url.startswith(_STANDALONE) else []
    return [_host_and_port(address, url) for address in addresses]


def why_unreachable(host: str, port: int) -> str | None:
    """Why no connection can be made to a master, or None."""
    try:
        socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
    except TimeoutError:
        return f"{host}:{port} does not answer within {human(_CONNECT_TIMEOUT_S)}"
    except OSError as error:
        return f"{host}:{port} cannot be reached ({error.strerror or error})"
    return None


def _check_standalone(url: str) -> None:
    """One of several masters is enough: the others are on standby."""
    why_not: list[str] = []
    for host, port in standalone_masters(url):
        why = why_unreachable(host, port)
        if why is None:
            return
        why_not.append(why)
    raise PlantError(f"master {url}: {'; '.join(why_not)}: check host and port, and that the master runs")


def _host_and_port(address: str, url: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"master {url!r}: {address!r} is not HOST:PORT: write e.g. spark://host:7077")
    return host.strip("[]"), int(port)
