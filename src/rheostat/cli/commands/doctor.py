"""`rheostat doctor`: the features of Rheostat that a given Spark supports."""

import tempfile
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from rheostat.cli.spark_target import ClusterFolder, Master, check_target, open_target


def check_spark(master: Master = None, folder: ClusterFolder = None) -> None:
    """Check what a Spark supports: pools, moves, standby executors, node labels. Exit code 1 if one is missing."""
    check_target(master, folder)
    from rheostat.spark.doctor import diagnose
    from rheostat.spark.processes.driver_output import spark_output_to

    console = Console()
    with (
        tempfile.TemporaryDirectory(prefix="rheostat-doctor-", ignore_cleanup_errors=True) as logs,
        console.status("checking Spark ..."),
        open_target(master, folder) as cluster,
        spark_output_to(Path(logs) / "spark.log"),
    ):
        abilities = diagnose(master, cluster)
    table = Table("feature", "supported", "reason", box=None)
    for ability in abilities:
        table.add_row(ability.name, "yes" if ability.can else "no", ability.why)
    console.print(table)
    if not all(ability.can for ability in abilities):
        raise typer.Exit(1)
