"""`rheostat place`: task placement on nodes and processes, computed from traffic and demands."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rheostat.cli.shared_options import Json
from rheostat.placement import graphfile


def place_tasks(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH.json", help="Tasks, edges and nodes.", show_default=False)],
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="Use this many equal nodes, each like the first in the file if it has any."),
    ] = None,
    algorithm: Annotated[
        str, typer.Option(help="ra-stream, annealing, even, sp-ant, metis, exact or milp.")
    ] = "ra-stream",
    seed: Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same placement.")] = 0,
    json: Json = False,
) -> None:
    """Place the tasks in GRAPH.json (Ra-Stream): few nodes, and tasks with much traffic together."""
    file = graphfile.read(graph)
    placed = graphfile.place(file, nodes, algorithm, seed)
    if nodes is not None and nodes > len(file.tasks):
        print(f"only {len(file.tasks)} of {nodes} equal nodes considered: one for each task", file=sys.stderr)
    print(msgspec.json.encode(graphfile.as_dict(placed)).decode() if json else graphfile.as_text(placed))
