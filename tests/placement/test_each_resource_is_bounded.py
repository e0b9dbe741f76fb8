"""No resource of a node with several tasks is planned beyond T_over, though their weighted sum would allow it."""

from itertools import pairwise

import pytest

from rheostat.placement import Edge, PlacementNode, PlacementProblem, Resources, Task, TaskGraph
from rheostat.placement.algorithms import algorithm
from rheostat.placement.solvers.annealing import Search


def processors_only(tasks=12, cpu=0.2):
    """Tasks in a chain that need a fifth of a processor each, and neither memory nor I/O."""
    names = [f"t{index}" for index in range(tasks)]
    graph = TaskGraph.of(
        [Task(name, Resources(cpu)) for name in names],
        [Edge(before, after, 100.0) for before, after in pairwise(names)],
    )
    return PlacementProblem(graph, tuple(PlacementNode(f"n{index}") for index in range(8)))


@pytest.mark.parametrize("name", ["ra-stream", "annealing"])
def test_processors_are_not_planned_beyond_t_over(name):
    placement = algorithm(name).place(processors_only(), Search())
    used = [shares.cpu for shares in placement.utilisation.values() if shares.cpu > 0]
    assert max(used) <= 0.75
    assert len(used) >= 4


def test_a_single_task_may_use_more_than_t_over():
    placement = algorithm("ra-stream").place(processors_only(tasks=3, cpu=0.9), Search())
    assert sorted(shares.cpu for shares in placement.utilisation.values() if shares.cpu > 0) == [0.9, 0.9, 0.9]
