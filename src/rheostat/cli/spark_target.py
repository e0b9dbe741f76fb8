"""Spark target: the cluster a command runs on. A master URL, a cluster started earlier, or a new embedded one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rheostat.errors import ConfigError

if TYPE_CHECKING:
    from rheostat.spark.cluster.address import ClusterAddress
    from rheostat.spark.cluster.embedded import EmbeddedCluster

Master = Annotated[
    str | None, typer.Option(help="Spark master URL. Without it, an embedded cluster is started for this command.")
]
ClusterFolder = Annotated[
    Path | None, typer.Option("--cluster", metavar="DIR", help="Folder of a cluster started by `rheostat cluster`.")
]

_MASTER = re.compile(r"local(\[.*\])?|local-cluster\[.*\]|spark://.+|k8s://.+|yarn")


def check_target(master: str | None, folder: Path | None) -> None:
    """Refuse two targets at once, and a master URL of an unknown kind: Spark's launcher would exit without a reason."""
    if master is not None and folder is not None:
        raise ConfigError(f"--master {master} and --cluster {folder} are two clusters: give only one")
    if master is not None and not _MASTER.fullmatch(master):
        raise ConfigError(f"--master {master!r} is not a Spark master: give e.g. spark://host:7077, yarn or local[4]")


@contextmanager
def open_target(
    master: str | None, folder: Path | None, executors: int = 4
) -> "Iterator[EmbeddedCluster | ClusterAddress | None]":
    """The cluster to run on, or None if a `master` URL was given.

    An embedded cluster has room for so many `executors`, and is stopped on exit.
    """
    from rheostat.spark.cluster.detached import connect
    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.cluster.node import nodes_for
    from rheostat.spark.target import EXECUTOR_MEMORY_MB

    if master is not None:
        yield None
    elif folder is not None:
        yield connect(folder)
    else:
        with EmbeddedCluster(nodes_for(executors, EXECUTOR_MEMORY_MB)) as cluster:
            yield cluster
