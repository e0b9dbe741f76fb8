"""Bin packing: a first scheme in which every task has room, and one on few nodes."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from rheostat.placement.draft import NOWHERE, Draft, no_room
from rheostat.placement.problem import SLACK, Problem

_Choice = Callable[[Draft, int, list[int]], int | None]
"""The node for a task, given the nodes with the largest first; None where it fits on none."""

_SMALL = 1200
"""Tasks up to which a tight packing is tried in several orders."""


def pack(problem: Problem) -> np.ndarray:
    """A scheme in which everything fits, chatty tasks together where they can be.

    The tasks that need most come first, by several measures of most, each to the node that it has most traffic
    with; if that comes to nothing, to the fullest node with room. Fails with an error that names a task.
    """
    for choose, order in product((_chattiest, _fullest), _orders(problem)):
        draft = Draft(problem)
        stuck = _fill(draft, order, choose)
        if stuck is None:
            return draft.scheme
    assert stuck is not None
    raise no_room(problem, stuck)


def pack_tightly(problem: Problem) -> np.ndarray | None:
    """A scheme on as few nodes as best-fit decreasing finds, the largest nodes first; None where it finds none."""
    found: list[Draft] = []
    for order in _orders(problem)[: None if len(problem.graph) <= _SMALL else 1]:
        draft = Draft(problem)
        if _fill(draft, order, _fullest) is None:
            found.append(draft)
    return min(found, key=lambda draft: len(draft.in_use)).scheme if found else None


def fewest_conceivable(problem: Problem) -> int:
    """Fewer nodes than this cannot hold everything: if all were the largest, and tasks could be split."""
    graph, limits = problem.graph, problem.limits
    shares = graph.demands * problem.shares_per_unit.min(axis=0)
    weighted = np.minimum(shares @ [limits.weights.cpu, limits.weights.memory, limits.weights.io], limits.over)
    bounds = [*shares.sum(axis=0), weighted.sum() / limits.over, graph.sizes.sum() / problem.slots.max()]
    return max(1, math.ceil(float(max(bounds)) - SLACK))


def _orders(problem: Problem) -> list[list[int]]:
    """The tasks by falling need: of the scarcest resource, of all together, and of each."""
    shares = problem.graph.demands * np.median(problem.shares_per_unit, axis=0)
    weights = problem.limits.weights
    weighted = shares @ [weights.cpu, weights.memory, weights.io]
    keys = [shares @ shares.sum(axis=0), shares.max(axis=1), weighted, *shares.T]
    return [np.argsort(-key, kind="stable").tolist() for key in keys]


def _fill(draft: Draft, order: list[int], choose: _Choice) -> int | None:
    """Place all tasks; the first one for which there is no room ends it and is returned."""
    by_size = np.argsort(draft.problem.shares_per_unit.max(axis=1), kind="stable").tolist()
    for task in order:
        node = choose(draft, task, by_size)
        if node is None:
            return task
        draft.put(task, node)
    return None


def _chattiest(draft: Draft, task: int, by_size: list[int]) -> int | None:
    """Where the task has most traffic; the emptiest node, where it has none."""
    traffic = draft.traffic(task)
    for node in sorted(traffic.keys() - {NOWHERE}, key=lambda node: (-traffic[node], node)):
        if draft.fits([task], node):
            return node
    roomy = sorted(by_size, key=draft.requirement)
    return next((node for node in roomy if draft.fits([task], node)), None)


def _fullest(draft: Draft, task: int, by_size: list[int]) -> int | None:
    """Best fit; a node that is not in use yet only where none of the others has room."""
    used = sorted((node for node in by_size if draft.tasks[node]), key=lambda node: -draft.requirement(node))
    idle = [node for node in by_size if not draft.tasks[node]]
    return next((node for node in (*used, *idle) if draft.fits([task], node)), None)
