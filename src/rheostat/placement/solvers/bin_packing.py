"""Bin packing: a first feasible scheme, and a scheme on few nodes."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from rheostat.placement.model.draft_scheme import NOWHERE, DraftScheme, no_room
from rheostat.placement.model.problem import SLACK, PlacementProblem

_Choice = Callable[[DraftScheme, int, list[int]], int | None]
"""The node for a task, given the nodes with the largest first; None if it fits on none."""

_SMALL = 1200
"""Number of tasks up to which a tight packing is tried in several orders."""


def pack(problem: PlacementProblem) -> np.ndarray:
    """A feasible scheme, with tasks of much traffic together where possible.

    The largest tasks come first, in several orders, each to the node with which it has most traffic; if that fails, to
    the fullest node with room. The error names a task that does not fit.
    """
    for choose, order in product((_most_traffic, _fullest), _orders(problem)):
        draft = DraftScheme(problem)
        stuck = _fill(draft, order, choose)
        if stuck is None:
            return draft.scheme
    assert stuck is not None
    raise no_room(problem, stuck)


def pack_tightly(problem: PlacementProblem) -> np.ndarray | None:
    """A scheme on few nodes by best-fit decreasing, the largest nodes first; None if it finds none."""
    found: list[DraftScheme] = []
    for order in _orders(problem)[: None if len(problem.graph) <= _SMALL else 1]:
        draft = DraftScheme(problem)
        if _fill(draft, order, _fullest) is None:
            found.append(draft)
    return min(found, key=lambda draft: len(draft.in_use)).scheme if found else None


def fewest_conceivable(problem: PlacementProblem) -> int:
    """A lower bound of the number of nodes: as if all were the largest, and tasks could be split."""
    graph, limits = problem.graph, problem.limits
    shares = graph.demands * problem.shares_per_unit.min(axis=0)
    weighted = np.minimum(shares @ [limits.weights.cpu, limits.weights.memory, limits.weights.io], limits.over)
    each = np.minimum(shares, limits.over).sum(axis=0) / limits.over
    bounds = [*each, weighted.sum() / limits.over, graph.sizes.sum() / problem.slots.max()]
    return max(1, math.ceil(float(max(bounds)) - SLACK))


def _orders(problem: PlacementProblem) -> list[list[int]]:
    """The tasks by falling demand: of the scarcest resource, of all together, and of each."""
    shares = problem.graph.demands * np.median(problem.shares_per_unit, axis=0)
    weights = problem.limits.weights
    weighted = shares @ [weights.cpu, weights.memory, weights.io]
    keys = [shares @ shares.sum(axis=0), shares.max(axis=1), weighted, *shares.T]
    return [np.argsort(-key, kind="stable").tolist() for key in keys]


def _fill(draft: DraftScheme, order: list[int], choose: _Choice) -> int | None:
    """Place all tasks; returns the first one that does not fit, or None."""
    by_size = np.argsort(draft.problem.shares_per_unit.max(axis=1), kind="stable").tolist()
    for task in order:
        node = choose(draft, task, by_size)
        if node is None:
            return task
        draft.put(task, node)
    return None


def _most_traffic(draft: DraftScheme, task: int, by_size: list[int]) -> int | None:
    """The node with which the task has most traffic; the emptiest one if it has none."""
    traffic = draft.traffic(task)
    for node in sorted(traffic.keys() - {NOWHERE}, key=lambda node: (-traffic[node], node)):
        if draft.fits([task], node):
            return node
    roomy = sorted(by_size, key=draft.requirement)
    return next((node for node in roomy if draft.fits([task], node)), None)


def _fullest(draft: DraftScheme, task: int, by_size: list[int]) -> int | None:
    """Best fit; an unused node only if none of the others has room."""
    used = sorted((node for node in by_size if draft.tasks[node]), key=lambda node: -draft.requirement(node))
    idle = [node for node in by_size if not draft.tasks[node]]
    return next((node for node in (*used, *idle) if draft.fits([task], node)), None)
