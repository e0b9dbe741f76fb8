"""Placement benchmark: quality of placements and the time to compute them.

Run with `python -m bench.placement`. The aims: a cut no worse than that of METIS at equal balance for 100 to 10,000
tasks; 10,000 tasks and 50,000 edges on 100 nodes in under 30 s. Equal balance means that no node gets more than the
fullest part of METIS. Times are processor time of this process without the compilation of the first run.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

from rheostat.placement import (
    Edge,
    PlacementNode,
    PlacementProblem,
    Resources,
    ResourceWeights,
    Search,
    Task,
    TaskGraph,
    UtilisationLimits,
    ra_stream,
)
from rheostat.placement.baselines.branch_and_bound import exact
from rheostat.placement.baselines.metis import metis
from rheostat.placement.model.objective import quality
from rheostat.placement.solvers.partition import partition

Found = TypeVar("Found")

SIZES = ((100, 4), (100, 10), (300, 8), (1_000, 20), (3_000, 30), (10_000, 100))
SMALL_GRAPHS = 20
LOAD_ONLY = UtilisationLimits(0.0, 1.0, ResourceWeights(1.0, 0.0))


def main() -> None:
    partition(_problem(at_random(100, 0), 4, 1e6))
    console = Console()
    console.print(against_metis())
    console.print(against_the_optimum())
    console.print(end_to_end())


def at_random(tasks: int, seed: int) -> TaskGraph:
    """Every task exchanges records with ten random others."""
    rng = np.random.default_rng(seed)
    return _graph(rng, tasks, rng.integers(tasks, size=(5 * tasks, 2)))


def in_layers(tasks: int, seed: int) -> TaskGraph:
    """A chain of operators; each task sends to five tasks of the next operator."""
    rng = np.random.default_rng(seed)
    width = int(tasks**0.5)
    sources = np.repeat(np.arange(tasks - width), 5)
    targets = (sources // width + 1) * width + rng.integers(width, size=len(sources))
    return _graph(rng, tasks, np.stack([sources, np.minimum(targets, tasks - 1)], axis=1))


def in_groups(tasks: int, seed: int) -> TaskGraph:
    """Groups of twenty tasks with four fifths of the traffic within the group."""
    rng = np.random.default_rng(seed)
    ones = np.repeat(np.arange(tasks), 5)
    inside = ones // 20 * 20 + rng.integers(20, size=len(ones))
    others = np.where(rng.random(len(ones)) < 0.8, np.minimum(inside, tasks - 1), rng.integers(tasks, size=len(ones)))
    return _graph(rng, tasks, np.stack([ones, others], axis=1))


FAMILIES: dict[str, Callable[[int, int], TaskGraph]] = {"random": at_random, "layers": in_layers, "groups": in_groups}


def against_metis() -> Table:
    table = Table(title="cut share at equal balance", caption="ours / METIS below 1: less traffic between nodes")
    for column in ("graph", "tasks", "edges", "nodes", "METIS", "ours", "ours / METIS", "seconds"):
        table.add_column(column, justify="right")
    for tasks, nodes in SIZES:
        for name, make in FAMILIES.items():
            graph = make(tasks, 1)
            theirs = metis(_problem(graph, nodes, 1e6))
            fullest = np.bincount(theirs, weights=graph.demands[:, 0], minlength=nodes).max()
            ours, seconds = _timed(
                lambda g=graph, n=nodes, f=fullest: partition(_problem(g, n, f), Search(epsilon=1.0))
            )
            cuts = [quality(graph, scheme, nodes).cut_share for scheme in (theirs, ours)]
            sizes = (f"{tasks:,}", f"{len(graph.rates):,}", str(nodes))
            table.add_row(name, *sizes, *(f"{cut:.4f}" for cut in cuts), f"{cuts[1] / cuts[0]:.3f}", f"{seconds:.2f}")
    return table


def against_the_optimum() -> Table:
    """Random graphs of 9 tasks with demands in three resources."""
    excess = []
    for seed in range(SMALL_GRAPHS):
        problem = _small(seed)
        found = [quality(problem.graph, scheme, 5).objective() for scheme in (partition(problem), exact(problem))]
        excess.append(found[0] / found[1] - 1)
    table = Table(title=f"f above the optimum, {SMALL_GRAPHS} graphs of 9 tasks on 5 nodes")
    table.add_column("mean", justify="right")
    table.add_column("worst", justify="right")
    table.add_row(f"{np.mean(excess):.2%}", f"{max(excess):.2%}")
    return table


def end_to_end() -> Table:
    """Partition, consolidation, scheduling and processes together, with twice as many nodes as needed."""
    table = Table(title="ra-stream from a graph to a placement", caption="aim: 10,000 tasks in under 30 s")
    for column in ("tasks", "nodes", "nodes used", "cut share", "seconds"):
        table.add_column(column, justify="right")
    for tasks, nodes in ((1_000, 20), (10_000, 100)):
        graph = at_random(tasks, 2)
        problem = PlacementProblem(
            graph,
            _nodes(nodes, 2 * graph.demands[:, 0].sum() / nodes),
            UtilisationLimits(weights=ResourceWeights(1.0, 0.0)),
        )
        placed, seconds = _timed(lambda it=problem: ra_stream(it))
        table.add_row(f"{tasks:,}", str(nodes), str(placed.nodes_used), f"{placed.cut_share:.3f}", f"{seconds:.1f}")
    return table


def _graph(rng: np.random.Generator, tasks: int, pairs: np.ndarray) -> TaskGraph:
    needs, rates = rng.uniform(0.5, 1.5, tasks).tolist(), rng.exponential(size=len(pairs)).tolist()
    edges = [Edge(f"t{one}", f"t{other}", rate) for (one, other), rate in zip(pairs.tolist(), rates, strict=True)]
    return TaskGraph.of([Task(f"t{number}", Resources(need)) for number, need in enumerate(needs)], edges)


def _small(seed: int) -> PlacementProblem:
    rng = np.random.default_rng(seed)
    tasks = [Task(f"t{number}", Resources(*rng.uniform(0.05, 0.35, 3).tolist())) for number in range(9)]
    pairs = [(one, other) for one in range(9) for other in range(one) if rng.random() < 0.4]
    edges = [Edge(f"t{one}", f"t{other}", float(rng.exponential())) for one, other in pairs]
    return PlacementProblem(TaskGraph.of(tasks, edges), tuple(PlacementNode(f"n{number}") for number in range(5)))


def _problem(graph: TaskGraph, nodes: int, supply: float) -> PlacementProblem:
    return PlacementProblem(graph, _nodes(nodes, supply), LOAD_ONLY)


def _nodes(number: int, supply: float) -> tuple[PlacementNode, ...]:
    return tuple(PlacementNode(f"n{position}", Resources(float(supply), 1.0, 1.0)) for position in range(number))


def _timed(work: Callable[[], Found]) -> tuple[Found, float]:
    start_s = time.process_time()
    found = work()
    return found, time.process_time() - start_s


if __name__ == "__main__":
    main()
