"""Graph file of `rheostat place`: tasks, edges and nodes in JSON."""

from pathlib import Path
from typing import Any

import msgspec

from rheostat.errors import ConfigError
from rheostat.jsonfile import parse_json, read_json
from rheostat.placement.algorithms import algorithm
from rheostat.placement.model.placement import Placement
from rheostat.placement.model.problem import PlacementNode, PlacementProblem, UtilisationLimits
from rheostat.placement.model.resources import Resources
from rheostat.placement.model.task_graph import Edge, Task, TaskGraph
from rheostat.placement.solvers.annealing import Search


class TaskEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The demand of one task, in the nodes' units."""

    name: str
    cpu: float = 0.0
    memory: float = 0.0
    io: float = 0.0


class EdgeEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"source": "from", "target": "to"}):
    """Records per second from one task to another."""

    source: str
    target: str
    rate: float


class NodeEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The supply of one node; `processes`, and `process_tasks` in each of them, are not limited by default."""

    name: str
    cpu: float = 1.0
    memory: float = 1.0
    io: float = 1.0
    processes: int | None = None
    process_tasks: int | None = None


class GraphFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. Without nodes their number is an argument, and each has 1 of every resource."""

    tasks: tuple[TaskEntry, ...]
    edges: tuple[EdgeEntry, ...] = ()
    nodes: tuple[NodeEntry, ...] = ()


def read(path: Path) -> GraphFile:
    """The graph file at `path`."""
    return read_json(path, GraphFile, "graph file")


def parse(text: bytes | str, where: str = "graph file") -> GraphFile:
    """The graph file with this content; `where` names it in errors."""
    return parse_json(text, GraphFile, where)


def problem_of(file: GraphFile, nodes: int | None = None, limits: UtilisationLimits | None = None) -> PlacementProblem:
    """The problem in the file, on its own nodes or on `nodes` nodes like the first of them.

    Of equal nodes no more are used than there are tasks: the others would stay empty.
    """
    graph = TaskGraph.of(
        [Task(entry.name, Resources(entry.cpu, entry.memory, entry.io)) for entry in file.tasks],
        [Edge(entry.source, entry.target, entry.rate) for entry in file.edges],
    )
    return PlacementProblem(graph, _nodes(file, nodes), limits or UtilisationLimits())


def place(file: GraphFile, nodes: int | None = None, name: str = "ra-stream", seed: int = 0) -> Placement:
    """The placement of the tasks in the file by the algorithm called `name`."""
    return algorithm(name).place(problem_of(file, nodes), Search(seed=seed))


def as_dict(placement: Placement) -> dict[str, Any]:
    """The output of `rheostat place --json`."""
    return {
        "assignment": {
            task: {"node": node, "process": process} for task, (node, process) in placement.locations().items()
        },
        "cut_share": placement.cut_share,
        "balance": placement.balance,
        "nodes_used": placement.nodes_used,
        "utilisation": placement.weighted(),
        "resources": {name: shares._asdict() for name, shares in placement.utilisation.items()},
    }


def as_text(placement: Placement) -> str:
    """The output of `rheostat place`: a line for each node in use, and a summary."""
    on_node: dict[str, list[str]] = {}
    for task, (node, process) in placement.locations().items():
        on_node.setdefault(node, []).append(f"{task} ({process})")
    width = max(len("node"), *map(len, on_node))
    lines = [f"{'node':<{width}}     cpu  memory      io  tasks (process)"]
    for name, shares in placement.utilisation.items():
        if name in on_node:
            use = "  ".join(f"{share:>6.1%}" for share in shares)
            lines.append(f"{name:<{width}}  {use}  {', '.join(on_node[name])}")
    total = len(placement.problem.nodes)
    lines.append(f"{placement.nodes_used} of {total} nodes in use")
    lines.append(f"{placement.cut_share:.1%} of the traffic between nodes, balance {placement.balance:.3g}")
    return "\n".join(lines)


def _nodes(file: GraphFile, number: int | None) -> tuple[PlacementNode, ...]:
    listed = tuple(
        PlacementNode(entry.name, Resources(entry.cpu, entry.memory, entry.io), entry.processes, entry.process_tasks)
        for entry in file.nodes
    )
    if number is None and not listed:
        raise ConfigError("the file has no nodes: add them, or give a number of equal ones (--nodes N)")
    if number is None:
        return listed
    model = listed[0] if listed else PlacementNode("node")
    useful = min(number, len(file.tasks))
    return tuple(msgspec.structs.replace(model, name=f"node-{position}") for position in range(1, useful + 1))
