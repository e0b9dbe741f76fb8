"""`rheostat place`: which task goes to which node and process, by traffic and demands alone."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rheostat.cli.options import Json
from rheostat.placement import graphfile


def place_tasks(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH.json", help="Tasks, edges and nodes.", show_default=False)],
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="Place on so many equal nodes, like the first in the file if it names any."),
    ] = None,
    algorithm: Annotated[
        str, typer.Option(help="ra-stream, annealing, even, sp-ant, metis, exact or milp.")
    ] = "ra-stream",
    seed: Annotated[int, typer.Option(min=0, help="Of everything random: the same seed, the same placement.")] = 0,
    json: Json = False,
) -> None:
    """Place the tasks in GRAPH.json (Ra-Stream): on few nodes, those that talk much together."""
    file = graphfile.read(graph)
    placed = graphfile.place(file, nodes, algorithm, seed)
    if nodes is not None and nodes > len(file.tasks):
        print(f"of {nodes} equal nodes {len(file.tasks)} were looked at: one for each task", file=sys.stderr)
    print(msgspec.json.encode(graphfile.as_dict(placed)).decode() if json else graphfile.as_text(placed))
