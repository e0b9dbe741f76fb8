"""Node assignment: which node gets which subgraph (Ra-Stream, Algorithm 3, first half)."""

import numpy as np

from rheostat.placement.model.draft_scheme import DraftScheme
from rheostat.placement.model.problem import PlacementProblem
from rheostat.placement.model.resources import Resources


def assign_nodes(problem: PlacementProblem, scheme: np.ndarray, now: np.ndarray | None = None) -> np.ndarray:
    """The subgraphs of `scheme`, each on the node with the largest surplus after it, the largest subgraph first.

    A subgraph must fit on an empty node by processor, memory, I/O (which eq. 13 leaves out) and slots. Ties go to the
    node where most of the tasks are `now`. If a subgraph finds no node in this order, `scheme` is returned unchanged.
    """
    groups = [np.flatnonzero(scheme == node).tolist() for node in np.unique(scheme)]
    demands = problem.graph.demands
    unit = _units(problem)
    draft = DraftScheme(problem)
    for group in sorted(groups, key=lambda group: -float((demands[group].sum(axis=0) / unit).sum())):
        homes = [node for node in range(len(problem.nodes)) if draft.fits(group, node) and not draft.tasks[node]]
        if not homes:
            return scheme
        best = max(homes, key=lambda node: (_surplus(problem, group, node, unit), _there(now, group, node), -node))
        for task in group:
            draft.put(task, best)
    return draft.scheme


def _surplus(problem: PlacementProblem, group: list[int], node: int, unit: np.ndarray) -> float:
    """S of eq. 15, in units of the largest supply of each resource, so that resources can be added."""
    left = (np.array(problem.nodes[node].supply) - problem.graph.demands[group].sum(axis=0)) / unit
    return round(problem.limits.surplus.of(Resources(*left.tolist())), 9)


def _units(problem: PlacementProblem) -> np.ndarray:
    largest = np.max([node.supply for node in problem.nodes], axis=0)
    return np.where(largest > 0, largest, 1.0)


def _there(now: np.ndarray | None, group: list[int], node: int) -> int:
    return 0 if now is None else int(np.count_nonzero(now[group] == node))
