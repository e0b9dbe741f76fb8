"""The Spark that a command runs on: the user's own, a cluster that was started before, or one just for it."""

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

Master = Annotated[str | None, typer.Option(help="Spark master URL; by default a cluster is started here.")]
Started = Annotated[
    Path | None, typer.Option("--cluster", metavar="DIR", help="Folder of a cluster that `rheostat cluster` started.")
]

_MASTER = re.compile(r"local(\[.*\])?|local-cluster\[.*\]|spark://.+|k8s://.+|yarn")


def check_where(master: str | None, started: Path | None) -> None:
    """Refuse both at once, and a master of no kind that Spark knows: its launcher would say only that it ended."""
    if master is not None and started is not None:
        raise ConfigError(f"--master {master} and --cluster {started} are two clusters: name one")
    if master is not None and not _MASTER.fullmatch(master):
        raise ConfigError(f"--master {master!r} is no Spark master: give e.g. spark://host:7077, yarn or local[4]")


@contextmanager
def cluster_for(master: str | None, started: Path | None) -> "Iterator[EmbeddedCluster | ClusterAddress | None]":
    """The cluster, None where a `master` stands for it. One that was started for this ends with the block."""
    from rheostat.spark.cluster.detached import connect
    from rheostat.spark.cluster.embedded import EmbeddedCluster

    if master is not None:
        yield None
    elif started is not None:
        yield connect(started)
    else:
        with EmbeddedCluster() as cluster:
            yield cluster
