"""Consolidation: as few nodes as the demand allows, each within its limits of utilisation (Ra-Stream, Algorithm 2).

The printed loop may not end: two subgraphs can exchange the same task for ever. Here overfull nodes are relieved
first, once each; then every merge or dissolution frees a node for good; finally every node that is still below T_under
takes tasks once, and only from nodes that stay above it.
"""

from bisect import bisect_right

import numpy as np

from rheostat.placement.model.draft_scheme import DraftScheme, no_room
from rheostat.placement.model.problem import SLACK, PlacementProblem


def consolidate(problem: PlacementProblem, scheme: np.ndarray) -> np.ndarray:
    """A scheme on no more nodes than `scheme`, unless some of those are overfull; often on fewer.

    If an overfull node cannot be relieved, the error names a task that does not fit elsewhere.
    """
    draft = DraftScheme(problem, scheme)
    for node in draft.in_use:
        _push_out(draft, node)
    tried: set[int] = set()
    while waiting := [node for node in _too_empty(draft) if node not in tried]:
        if _merge(draft, waiting[0]) or _dissolve(draft, waiting[0]):
            tried.clear()
        else:
            tried.add(waiting[0])
    for node in _too_empty(draft):
        _pull_in(draft, node)
    return draft.scheme


def _too_empty(draft: DraftScheme) -> list[int]:
    """The nodes in use below T_under, the emptiest first."""
    under = draft.problem.limits.under - SLACK
    found = [node for node in draft.in_use if draft.fullness(node) < under]
    return sorted(found, key=lambda node: (draft.fullness(node), node))


def _push_out(draft: DraftScheme, node: int) -> None:
    """Move the tasks with the least traffic off an overfull node, until the rest fits."""
    while draft.overfull(node):
        task, target = _cheapest_to_push(draft, node)
        draft.put(task, target)


def _cheapest_to_push(draft: DraftScheme, node: int) -> tuple[int, int]:
    """The task whose move adds least to the cut, and its target: a node in use rather than an idle one."""
    choices = []
    for task in draft.tasks[node]:
        traffic = draft.traffic(task)
        for target in range(len(draft.tasks)):
            if target != node and draft.fits([task], target):
                idle = not draft.tasks[target]
                choices.append((idle, traffic.get(node, 0.0) - traffic.get(target, 0.0), task, target))
    if not choices:
        raise no_room(draft.problem, max(draft.tasks[node], key=lambda task: draft.need(task, node)))
    return min(choices)[2:]


def _merge(draft: DraftScheme, node: int) -> bool:
    """Move all tasks of `node` to the fullest other node on which they fit."""
    others = sorted((other for other in draft.in_use if other != node), key=draft.requirement)
    tasks = list(draft.tasks[node])
    for other in reversed(others[: _room_for(draft, node, others)]):
        if draft.fits(tasks, other):
            for task in tasks:
                draft.put(task, other)
            return True
    return False


def _room_for(draft: DraftScheme, node: int, others: list[int]) -> int:
    """How many of `others`, which are sorted by R, may have room: by binary search if all nodes are alike."""
    if not draft.problem.alike:
        return len(others)
    room = draft.problem.limits.over - draft.requirement(node) + SLACK
    return bisect_right(others, room, key=draft.requirement)


def _dissolve(draft: DraftScheme, node: int) -> bool:
    """Distribute the tasks of `node` over others, each to where it has most traffic; all of them or none."""
    tasks = sorted(draft.tasks[node], key=lambda task: -draft.need(task, node))
    for done, task in enumerate(tasks):
        target = _best_home(draft, task, node)
        if target is None:
            for moved in tasks[:done]:
                draft.put(moved, node)
            return False
        draft.put(task, target)
    return True


def _best_home(draft: DraftScheme, task: int, node: int) -> int | None:
    traffic = draft.traffic(task)
    homes = [other for other in draft.in_use if other != node and draft.fits([task], other)]
    return max(homes, key=lambda home: (traffic.get(home, 0.0), draft.requirement(home)), default=None)


def _pull_in(draft: DraftScheme, node: int) -> None:
    """Fill a node up to T_under with the tasks that add least to the cut, from nodes that can spare them."""
    while draft.fullness(node) < draft.problem.limits.under - SLACK:
        choices = [_price(draft, task, node) for task in range(len(draft.where)) if _can_spare(draft, task, node)]
        if not choices:
            return
        draft.put(min(choices)[1], node)


def _can_spare(draft: DraftScheme, task: int, node: int) -> bool:
    source = draft.where[task]
    left = draft.requirement(source) - draft.need(task, source)
    return source != node and left >= draft.problem.limits.under - SLACK and draft.fits([task], node)


def _price(draft: DraftScheme, task: int, node: int) -> tuple[float, int]:
    traffic = draft.traffic(task)
    return traffic.get(draft.where[task], 0.0) - traffic.get(node, 0.0), task
