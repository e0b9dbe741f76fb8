"""`rheostat doctor`: what a given Spark can do for us."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.options import known_master


def examine(
    master: Annotated[str | None, typer.Option(help="Spark master URL; by default a small cluster is started.")] = None,
) -> None:
    """Tell what a Spark can do: pools, moves, standbys, node labels."""
    known_master(master)
    from rheostat.cli.quiet import quiet_spark
    from rheostat.spark.doctor import diagnose
    from rheostat.spark.embedded.cluster import EmbeddedCluster

    console = Console()
    with (
        tempfile.TemporaryDirectory(prefix="rheostat-doctor-", ignore_cleanup_errors=True) as folder,
        console.status("asking Spark ..."),
        quiet_spark(Path(folder) / "spark.log"),
    ):
        if master is not None:
            abilities = diagnose(master)
        else:
            with EmbeddedCluster() as cluster:
                abilities = diagnose(cluster=cluster)
    table = Table("ability", "there", "why", box=None)
    for ability in abilities:
        table.add_row(ability.name, "yes" if ability.can else "no", ability.why)
    console.print(table)
    if not all(ability.can for ability in abilities):
        raise typer.Exit(1)
