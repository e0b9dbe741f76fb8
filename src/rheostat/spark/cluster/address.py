"""Cluster address: what an application needs to run on an embedded cluster, and the loopback addresses of its hosts."""

import socket
from dataclasses import dataclass, field
from pathlib import Path

from rheostat.spark.install.jvm_extras import JvmExtras

MASTER_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Where the master is, its secret, and what the cluster's JVMs were started with."""

    master_url: str
    web_url: str
    logs: Path
    secret: str = field(repr=False)
    jvm_extras: JvmExtras


def loopback_host(number: int) -> str:
    """127.0.0.`number` where the system has it (Linux), else 127.0.0.1 (macOS without aliases)."""
    host = f"127.0.{number // 250}.{number % 250}"
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return MASTER_HOST
    return host
