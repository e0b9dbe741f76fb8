"""Processes: which tasks of a node share one (Ra-Stream, Algorithm 3, second half)."""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from rheostat.placement.model.problem import PlacementNode, PlacementProblem


class TaskLocations(NamedTuple):
    """PlacementNode and process of every task."""

    scheme: np.ndarray
    processes: np.ndarray


def processes(problem: PlacementProblem, scheme: np.ndarray, now: TaskLocations | None = None) -> np.ndarray:
    """The process of each task, numbered on each node.

    Pairs of tasks join the same process by falling traffic, as long as it has room; the remaining tasks fill the
    processes up. Without limits one process holds all tasks of a node. A process gets the number that most of its tasks
    have `now`.
    """
    found = np.zeros(len(scheme), dtype=np.int64)
    for position in np.unique(scheme).tolist():
        tasks = np.flatnonzero(scheme == position).tolist()
        groups = _grouped(problem, problem.nodes[position], tasks)
        for number, members in zip(_numbers(groups, position, now), groups, strict=True):
            found[members] = number
    return found


def _grouped(problem: PlacementProblem, node: PlacementNode, tasks: list[int]) -> list[list[int]]:
    if node.processes is None and node.process_tasks is None:
        return [tasks]
    room = _room(node, len(tasks))
    group = {task: [task] for task in tasks}
    for one, other in _pairs_by_traffic(problem, group):
        if group[one] is not group[other] and len(group[one]) + len(group[other]) <= room:
            joined = group[one] + group[other]
            group.update(dict.fromkeys(joined, joined))
    groups = list({id(members): members for members in group.values()}.values())
    return _fitted(sorted(groups, key=len, reverse=True), node.processes)


def _room(node: PlacementNode, tasks: int) -> int:
    """Tasks per process; equal numbers if only the number of processes is limited."""
    return node.process_tasks or math.ceil(tasks / (node.processes or 1))


def _pairs_by_traffic(problem: PlacementProblem, tasks: dict[int, list[int]]) -> list[tuple[int, int]]:
    pairs = [
        (-rate, task, other)
        for task in tasks
        for other, rate in problem.graph.neighbours[task]
        if task < other and other in tasks
    ]
    return [(one, other) for _, one, other in sorted(pairs)]


def _fitted(groups: list[list[int]], most: int | None) -> list[list[int]]:
    """At most as many processes as allowed; the smallest groups are split up if there are too many."""
    if most is None:
        return groups
    kept, spare = groups[:most], [task for group in groups[most:] for task in group]
    for task in spare:
        min(kept, key=len).append(task)
    return kept


def _numbers(groups: list[list[int]], node: int, now: TaskLocations | None) -> list[int]:
    """A number for each group: the one that most of its tasks have already, else the lowest free one."""
    taken: set[int] = set()
    numbers = []
    for group in groups:
        here = [] if now is None else [int(now.processes[task]) for task in group if now.scheme[task] == node]
        known = [number for number, _ in Counter(here).most_common() if number not in taken]
        numbers.append(known[0] if known else -1)
        taken.add(numbers[-1])
    free = (number for number in range(len(groups) + len(taken)) if number not in taken)
    return [next(free) if number < 0 else number for number in numbers]
