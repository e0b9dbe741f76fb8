"""`rheostat doctor`: what a given Spark can do for us."""

import tempfile
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.spark_target import Master, Started, check_where, cluster_for


def examine(master: Master = None, started: Started = None) -> None:
    """Tell what a Spark can do: pools, moves, standbys, node labels."""
    check_where(master, started)
    from rheostat.cli.quiet import quiet_spark
    from rheostat.spark.doctor import diagnose

    console = Console()
    with (
        tempfile.TemporaryDirectory(prefix="rheostat-doctor-", ignore_cleanup_errors=True) as folder,
        console.status("asking Spark ..."),
        cluster_for(master, started) as cluster,
        quiet_spark(Path(folder) / "spark.log"),
    ):
        abilities = diagnose(master, cluster)
    table = Table("ability", "there", "why", box=None)
    for ability in abilities:
        table.add_row(ability.name, "yes" if ability.can else "no", ability.why)
    console.print(table)
    if not all(ability.can for ability in abilities):
        raise typer.Exit(1)
