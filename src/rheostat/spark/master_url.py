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


def _check_standalone(url: str) -> None:
    """One of several masters (`spark://a:7077,b:7077`) is enough: the others are on standby."""
    why_not: list[str] = []
    for address in url.removeprefix(_STANDALONE).split(","):
        host, port = _host_and_port(address, url)
        try:
            socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
            return
        except TimeoutError:
            why_not.append(f"{address} does not answer within {human(_CONNECT_TIMEOUT_S)}")
        except OSError as error:
            why_not.append(f"{address} cannot be reached ({error.strerror or error})")
    raise PlantError(f"master {url}: {'; '.join(why_not)}: check host and port, and that the master runs")


def _host_and_port(address: str, url: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"master {url!r}: {address!r} is not HOST:PORT: write e.g. spark://host:7077")
    return host.strip("[]"), int(port)
