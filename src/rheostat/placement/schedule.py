"""Which node gets which subgraph (Ra-Stream, Algorithm 3, first half)."""

import numpy as np

from rheostat.placement.draft import Draft
from rheostat.placement.problem import Problem
from rheostat.placement.resources import Resources


def schedule(problem: Problem, scheme: np.ndarray, now: np.ndarray | None = None) -> np.ndarray:
    """The subgraphs of `scheme`, each on the node that has most to spare after it, the largest subgraph first.

    A node comes into question if it holds the subgraph by processor, memory, I/O (which eq. 13 forgets) and
    slots, beside what it got already. Of equal ones that wins where most of the tasks are `now`. Should the
    greedy order lead to where one has no node, all stay on those that they were made for.
    """
    groups = [np.flatnonzero(scheme == node).tolist() for node in np.unique(scheme)]
    demands = problem.graph.demands
    unit = _units(problem)
    draft = Draft(problem)
    for group in sorted(groups, key=lambda group: -float((demands[group].sum(axis=0) / unit).sum())):
        homes = [node for node in range(len(problem.nodes)) if draft.fits(group, node) and not draft.tasks[node]]
        if not homes:
            return scheme
        best = max(homes, key=lambda node: (_surplus(problem, group, node, unit), _there(now, group, node), -node))
        for task in group:
            draft.put(task, best)
    return draft.scheme


def _surplus(problem: Problem, group: list[int], node: int, unit: np.ndarray) -> float:
    """S of eq. 15, in units of the largest supply of each resource, so that resources can be added up."""
    left = (np.array(problem.nodes[node].supply) - problem.graph.demands[group].sum(axis=0)) / unit
    return round(problem.limits.surplus.of(Resources(*left.tolist())), 9)


def _units(problem: Problem) -> np.ndarray:
    largest = np.max([node.supply for node in problem.nodes], axis=0)
    return np.where(largest > 0, largest, 1.0)


def _there(now: np.ndarray | None, group: list[int], node: int) -> int:
    return 0 if now is None else int(np.count_nonzero(now[group] == node))
