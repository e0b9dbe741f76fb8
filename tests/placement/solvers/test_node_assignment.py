"""Nodes for subgraphs, processes for tasks, and what the ways between them cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from task_graphs import problems

from rheostat.errors import ConfigError
from rheostat.placement import Costs, Edge, PlacementNode, PlacementProblem, Resources, Task, TaskGraph
from rheostat.placement.model.transfer_cost import ways
from rheostat.placement.solvers.bin_packing import pack
from rheostat.placement.solvers.node_assignment import assign_nodes
from rheostat.placement.solvers.processes import processes


def tasks(needs):
    return [Task(f"t{i}", Resources(need, need, need)) for i, need in enumerate(needs)]


def sizes(*supplies):
    return tuple(PlacementNode(f"n{i}", Resources(size, size, size)) for i, size in enumerate(supplies))


def test_the_largest_subgraph_gets_the_node_with_most_to_spare():
    problem = PlacementProblem(TaskGraph.of(tasks([0.2, 0.6])), sizes(1.0, 2.0))
    assert assign_nodes(problem, np.array([1, 0])).tolist() == [0, 1]


def test_of_equal_nodes_that_wins_where_the_tasks_are_already():
    problem = PlacementProblem(TaskGraph.of(tasks([0.3, 0.3, 0.3, 0.3])), sizes(1.0, 1.0, 1.0))
    now = np.array([2, 2, 1, 0])
    assert assign_nodes(problem, np.array([0, 0, 1, 1]), now).tolist() == [2, 2, 0, 0]


def test_a_node_without_enough_io_does_not_come_into_question():
    nodes = (PlacementNode("slow disk", Resources(9.0, 9.0, 0.1)), PlacementNode("fast disk"))
    problem = PlacementProblem(TaskGraph.of([Task("t", Resources(0.5, 0.5, 0.5))]), nodes)
    assert assign_nodes(problem, np.array([1])).tolist() == [1]


def test_a_greedy_order_that_leads_nowhere_changes_nothing():
    nodes = (PlacementNode("x", Resources(1.0, 1.0, 1.0)), PlacementNode("y", Resources(1.5, 0.45, 0.45)))
    graph = TaskGraph.of([Task("a", Resources(0.7, 0.3, 0.3)), Task("b", Resources(0.1, 0.6, 0.6))])
    problem = PlacementProblem(graph, nodes)
    assert assign_nodes(problem, np.array([1, 0])).tolist() == [1, 0]


@settings(max_examples=40)
@given(problems())
def test_subgraphs_stay_together_wherever_they_go(problem):
    scheme = pack(problem)
    placed = assign_nodes(problem, scheme)
    pairs = set(zip(scheme.tolist(), placed.tolist(), strict=True))
    assert len(pairs) == len(np.unique(scheme)) == len(np.unique(placed))


def test_pairs_share_a_process_by_falling_traffic():
    edges = [Edge("t0", "t1", 5), Edge("t1", "t2", 9), Edge("t2", "t3", 5), Edge("t0", "t3", 1)]
    node = PlacementNode("n", Resources(9, 9, 9), processes=2, process_tasks=2)
    problem = PlacementProblem(TaskGraph.of(tasks([0.1] * 4), edges), (node,))
    assert processes(problem, np.zeros(4, dtype=int)).tolist() == [0, 1, 1, 0]


def test_one_process_holds_all_where_nothing_limits_it():
    problem = PlacementProblem(TaskGraph.of(tasks([0.1] * 4), [Edge("t0", "t3", 1)]), (PlacementNode("n"),))
    assert processes(problem, np.zeros(4, dtype=int)).tolist() == [0, 0, 0, 0]


@settings(max_examples=60)
@given(problems())
def test_no_process_holds_more_than_it_can(problem):
    scheme = pack(problem)
    found = processes(problem, scheme)
    for position, node in enumerate(problem.nodes):
        counts = np.bincount(found[scheme == position])
        assert len(counts) <= (node.processes or len(counts))
        assert counts.max(initial=0) <= (node.process_tasks or len(scheme))
        assert counts.min(initial=1) >= 1


def test_traffic_costs_by_its_way():
    edges = [Edge("t0", "t1", 100), Edge("t1", "t2", 10), Edge("t2", "t3", 1), Edge("t0", "t0", 7)]
    graph = TaskGraph.of(tasks([0.1] * 4), edges)
    found = ways(graph, np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0]))
    assert (found.within_process, found.between_processes, found.between_nodes) == (107.0, 10.0, 1.0)
    assert found.cost(Costs(process_s=0.001, node_s=0.005)) == pytest.approx(0.015)


def test_costs_rise_with_the_way():
    with pytest.raises(ConfigError, match="costs must rise with the distance"):
        Costs(process_s=0.002, node_s=0.001)
