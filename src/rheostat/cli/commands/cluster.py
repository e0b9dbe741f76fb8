"""`rheostat cluster`: an embedded Spark cluster that keeps running after the command has returned."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

app = typer.Typer(help="Start, inspect and stop an embedded Spark cluster.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option("--dir", help="Folder for the cluster's state and logs.")]
DEFAULT_FOLDER = Path("rheostat-cluster")


@app.command()
def start(
    folder: Folder = DEFAULT_FOLDER,
    nodes: Annotated[int, typer.Option(min=1, help="Number of workers.")] = 2,
    cores: Annotated[int, typer.Option(min=1, help="Cores that each worker offers.")] = 4,
    memory: Annotated[str, typer.Option(help="Memory that each worker offers.")] = "4g",
) -> None:
    """Start a Spark standalone master and workers on the loopback interface."""
    from rheostat.spark.cluster import detached
    from rheostat.spark.cluster.node import nodes_alike

    with Console().status("starting a Spark cluster ..."):
        address = detached.start_detached(folder, nodes_alike(nodes, cores, memory))
    size = "1 node" if nodes == 1 else f"{nodes} nodes"
    print(f"started a cluster of {size} at {address.master_url}")
    print(f"run on it with: rheostat run APP.py --sla LATENCY --cluster {folder}")
    _print_how_to_join(folder)
    print(f"stop it with: rheostat cluster stop --dir {folder}")


@app.command()
def status(folder: Folder = DEFAULT_FOLDER) -> None:
    """Show the nodes and applications of a running cluster."""
    from rheostat.spark.cluster import detached

    found = detached.status(folder)
    print(f"master {found.master_url}")
    for node in found.nodes:
        print(f"node {node.name}: {'alive' if node.alive else 'down'}, {node.cores_free} of {node.cores} cores free")
    for application in found.applications:
        print(f"application {application.name}: {application.cores} cores")
    _print_how_to_join(folder)


@app.command()
def stop(folder: Folder = DEFAULT_FOLDER) -> None:
    """Stop a running cluster and everything that runs on it."""
    from rheostat.spark.cluster import detached

    detached.stop(folder)
    print("stopped")


def _print_how_to_join(folder: Path) -> None:
    """The secret is in a file that only its owner can read, and not in any argument."""
    from rheostat.spark.cluster.detached import conf_folder

    conf = shlex.quote(str(conf_folder(folder)))
    print(f"join it with a driver program: SPARK_CONF_DIR={conf} PYSPARK_PYTHON=$(command -v python) python APP.py")
    print(f"or: spark-submit --properties-file {conf}/spark-defaults.conf APP.py")
