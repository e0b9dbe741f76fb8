"""Coarsening of a large graph: pairs of tasks with much traffic become one task, level by level.

Tasks that are merged move together. So whole neighbourhoods find their node first and single tasks later, which would
take very long by annealing single tasks alone.
"""

from dataclasses import dataclass

import numpy as np

from rheostat.placement.model.problem import PlacementProblem
from rheostat.placement.model.task_graph import TaskGraph

_LARGEST = 1 / 6
"""The largest share of a node for a merged task, so that nodes can still be filled evenly."""
_STALLED = 0.95
"""A level that keeps more than this share of the tasks is not worth it."""


@dataclass(frozen=True, eq=False)
class Level:
    """A coarsened problem, and for each task of the next finer problem the task that represents it here."""

    problem: PlacementProblem
    stands_for: np.ndarray


def levels(
    problem: PlacementProblem, few: int, rng: np.random.Generator, scheme: np.ndarray | None = None
) -> list[Level]:
    """The levels from fine to coarse, until `few` tasks are left or no more can be merged.

    With a `scheme`, only tasks on the same node are merged, so that it is a scheme of every level too.
    """
    found: list[Level] = []
    while len(problem.graph) > few:
        pairs = _pairs(problem, rng, scheme)
        coarse = _contracted(problem.graph, pairs)
        if len(coarse) > _STALLED * len(problem.graph):
            break
        problem = PlacementProblem(coarse, problem.nodes, problem.limits)
        found.append(Level(problem, pairs))
        scheme = None if scheme is None else coarser(scheme, pairs)
    return found


def coarser(scheme: np.ndarray, stands_for: np.ndarray) -> np.ndarray:
    """The scheme of a level in which only tasks of one node are merged."""
    coarse = np.zeros(int(stands_for.max()) + 1, dtype=np.int64)
    coarse[stands_for] = scheme
    return coarse


def _pairs(problem: PlacementProblem, rng: np.random.Generator, scheme: np.ndarray | None) -> np.ndarray:
    """The number of each task's pair: with the free neighbour of most traffic for its size."""
    graph = problem.graph
    where = [0] * len(graph) if scheme is None else scheme.tolist()
    needs, sizes = _needs(problem).tolist(), graph.sizes.tolist()
    partner = [-1] * len(graph)
    for task in rng.permutation(len(graph)).tolist():
        if partner[task] >= 0:
            continue
        candidates = [
            (rate * rate / sizes[other], -other)
            for other, rate in graph.neighbours[task]
            if partner[other] < 0 and where[other] == where[task] and needs[task] + needs[other] <= _LARGEST
        ]
        other = -max(candidates)[1] if candidates else task
        partner[task], partner[other] = other, task
    together = np.minimum(np.arange(len(graph)), partner)
    return np.unique(together, return_inverse=True)[1]


def _needs(problem: PlacementProblem) -> np.ndarray:
    """The largest share of a typical node that each task takes: of T_over (R and each resource), or of the slots."""
    graph, limits = problem.graph, problem.limits
    shares = graph.demands * np.median(problem.shares_per_unit, axis=0)
    weighted = shares @ [limits.weights.cpu, limits.weights.memory, limits.weights.io] / limits.over
    slots = graph.sizes / np.median(problem.slots)
    needs: np.ndarray = np.max([*(shares.T / limits.over), weighted, slots], axis=0)
    return needs


def _contracted(graph: TaskGraph, group: np.ndarray) -> TaskGraph:
    """The graph of groups: demands, sizes and traffic added up."""
    number = int(group.max()) + 1
    ends = np.sort(group[graph.ends], axis=1)
    inner = ends[:, 0] == ends[:, 1]
    own = np.bincount(group, weights=graph.own, minlength=number)
    own += np.bincount(ends[inner, 0], weights=graph.rates[inner], minlength=number)
    keys, pair = np.unique(ends[~inner, 0] * number + ends[~inner, 1], return_inverse=True)
    return TaskGraph(
        names=tuple(map(str, range(number))),
        demands=np.stack([np.bincount(group, weights=each, minlength=number) for each in graph.demands.T], axis=1),
        ends=np.stack([keys // number, keys % number], axis=1),
        rates=np.bincount(pair, weights=graph.rates[~inner], minlength=len(keys)),
        own=own,
        sizes=np.bincount(group, weights=graph.sizes, minlength=number).astype(np.int64),
    )
