"""Which tasks of a node share a process (Ra-Stream, Algorithm 3, second half)."""

import math

import numpy as np

from rheostat.placement.problem import Node, Problem


def processes(problem: Problem, scheme: np.ndarray) -> np.ndarray:
    """The process of each task, numbered from 0 on each node.

    Pairs of tasks come by falling traffic into the same process, as far as it has room; tasks that are left over
    fill the processes up. Where a node has no limits one process holds them all.
    """
    found = np.zeros(len(scheme), dtype=np.int64)
    for position in np.unique(scheme).tolist():
        tasks = np.flatnonzero(scheme == position).tolist()
        for number, members in enumerate(_grouped(problem, problem.nodes[position], tasks)):
            found[members] = number
    return found


def _grouped(problem: Problem, node: Node, tasks: list[int]) -> list[list[int]]:
    room = _room(node, len(tasks))
    group = {task: [task] for task in tasks}
    for one, other in _chatty_pairs(problem, group):
        if group[one] is not group[other] and len(group[one]) + len(group[other]) <= room:
            joined = group[one] + group[other]
            group.update(dict.fromkeys(joined, joined))
    groups = list({id(members): members for members in group.values()}.values())
    return _fitted(sorted(groups, key=len, reverse=True), room, node.processes)


def _room(node: Node, tasks: int) -> float:
    """Tasks for each process; evenly shared out if only the number of processes is limited."""
    if node.process_tasks is not None:
        return node.process_tasks
    return math.inf if node.processes is None else math.ceil(tasks / node.processes)


def _chatty_pairs(problem: Problem, tasks: dict[int, list[int]]) -> list[tuple[int, int]]:
    pairs = [
        (-rate, task, other)
        for task in tasks
        for other, rate in problem.graph.neighbours[task]
        if task < other and other in tasks
    ]
    return [(one, other) for _, one, other in sorted(pairs)]


def _fitted(groups: list[list[int]], room: float, most: int | None) -> list[list[int]]:
    """As many processes as allowed; the smallest groups are split up where there are too many of them."""
    if most is None:
        return groups
    kept, spare = groups[:most], [task for group in groups[most:] for task in group]
    for task in spare:
        min(kept, key=len).append(task)
    return kept
