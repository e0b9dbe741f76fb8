"""Tasks, traffic and nodes: what is told, and what is refused."""

import numpy as np
import pytest

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.placement import (
    Edge,
    PlacementNode,
    PlacementProblem,
    Resources,
    ResourceWeights,
    Task,
    TaskGraph,
    UtilisationLimits,
)
from rheostat.placement.model.measured import task_edges, task_shares

THREE = [Task("a", Resources(0.1)), Task("b", Resources(0.2)), Task("c", Resources(0.3))]


def test_traffic_of_a_pair_adds_up_over_edges_and_directions():
    graph = TaskGraph.of(THREE, [Edge("a", "b", 2.0), Edge("b", "a", 3.0), Edge("c", "c", 4.0), Edge("a", "c", 1.0)])
    assert graph.total == 10.0
    assert graph.neighbours == [[(1, 5.0), (2, 1.0)], [(0, 5.0)], [(0, 1.0)]]
    assert graph.own.tolist() == [0.0, 0.0, 4.0]


def test_an_edge_to_a_task_that_does_not_exist_names_it():
    with pytest.raises(ConfigError, match=r"edge 'a' -> 'd': there is no task 'd'; known: a, b, c"):
        TaskGraph.of(THREE, [Edge("a", "d", 1.0)])


@pytest.mark.parametrize(
    ("tasks", "edges", "message"),
    [
        ([], [], "no tasks"),
        ([*THREE, Task("b")], [], "two tasks are called 'b'"),
        ([Task("a", Resources(-1.0))], [], "task 'a': cpu -1.0 must be a number >= 0"),
        ([Task("a", Resources(0.0, float("nan")))], [], "task 'a': memory nan"),
        (THREE, [Edge("a", "b", -1.0)], "edge 'a' -> 'b': rate -1.0"),
    ],
)
def test_a_wrong_graph_is_refused_by_name(tasks, edges, message):
    with pytest.raises(ConfigError, match=message):
        TaskGraph.of(tasks, edges)


def test_a_task_that_no_node_can_hold_is_named():
    tasks = [*THREE, Task("giant", Resources(0.5, 2.5, 0.1))]
    nodes = (PlacementNode("small"), PlacementNode("large", Resources(2.0, 2.0, 2.0)))
    with pytest.raises(InfeasibleError, match=r"no node can hold task 'giant': .*memory 2.5.*'large', has cpu 2"):
        PlacementProblem(TaskGraph.of(tasks), nodes)


def test_a_resource_that_no_node_has_is_held_only_by_tasks_that_need_none():
    nodes = (PlacementNode("n", Resources(1.0, 0.0, 0.0)),)
    PlacementProblem(TaskGraph.of(THREE), nodes)
    with pytest.raises(InfeasibleError, match="no node can hold task 'x'"):
        PlacementProblem(TaskGraph.of([Task("x", Resources(0.1, 0.1))]), nodes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PlacementProblem(TaskGraph.of(THREE), ()), "no nodes"),
        (
            lambda: PlacementProblem(TaskGraph.of(THREE), (PlacementNode("n"), PlacementNode("n"))),
            "two nodes are called 'n'",
        ),
        (lambda: PlacementNode("n", Resources(-1.0)), "node 'n': cpu -1.0"),
        (lambda: PlacementNode("n", processes=0), "node 'n': processes 0"),
        (lambda: UtilisationLimits(under=0.8, over=0.7), "0 <= under < over <= 1"),
        (lambda: ResourceWeights(0.8, 0.3), "add up to <= 1"),
    ],
)
def test_wrong_nodes_and_limits_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_weights_are_the_papers():
    assert ResourceWeights().of(Resources(1.0, 1.0, 1.0)) == pytest.approx(1.0)
    assert ResourceWeights().of(Resources(0.8, 0.4, 0.2)) == pytest.approx(0.5 * 0.8 + 0.35 * 0.4 + 0.15 * 0.2)


def test_a_task_takes_its_share_of_the_records_of_its_node():
    shares = task_shares({"a": 100, "b": 300}, Resources(0.8, 0.4, 0.2))
    assert shares["a"] == pytest.approx((0.2, 0.1, 0.05))
    assert shares["b"] == pytest.approx((0.6, 0.3, 0.15))
    assert task_shares({"a": 0, "b": 0}, Resources(0.8))["a"] == pytest.approx((0.4, 0, 0))


def test_a_stream_is_shared_out_over_pairs_of_tasks_by_what_they_process():
    edges = task_edges(100.0, {"s0": 3.0, "s1": 1.0}, {"c0": 1.0, "c1": 1.0})
    assert {(edge.source, edge.target): edge.rate for edge in edges} == pytest.approx(
        {("s0", "c0"): 37.5, ("s0", "c1"): 37.5, ("s1", "c0"): 12.5, ("s1", "c1"): 12.5}
    )
    assert sum(edge.rate for edge in task_edges(9.0, {"a": 0.0}, {"b": 0.0, "c": 0.0})) == pytest.approx(9.0)
    assert task_edges(0.0, {"a": 1.0}, {"b": 1.0}) == []


def test_shares_per_unit_are_those_of_each_node():
    problem = PlacementProblem(TaskGraph.of(THREE), (PlacementNode("n", Resources(2.0, 4.0, 1.0)), PlacementNode("m")))
    assert np.allclose(problem.shares_per_unit, [[0.5, 0.25, 1.0], [1.0, 1.0, 1.0]])
    assert not problem.alike
