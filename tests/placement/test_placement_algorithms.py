"""The whole family behind one interface."""

import numpy as np
import pytest
from hypothesis import given, settings
from task_graphs import problems, random_problem

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.placement import (
    ALGORITHMS,
    Annealing,
    Edge,
    PlacementNode,
    PlacementProblem,
    Resources,
    Search,
    Task,
    TaskGraph,
    algorithm,
)
from rheostat.placement.baselines.integer_programming import least_cut
from rheostat.placement.model.draft_scheme import DraftScheme
from rheostat.placement.model.objective import quality

QUICK = Search(annealing=Annealing(cooling=0.9))
WITHIN_LIMITS = ("ra-stream", "annealing", "exact", "milp")


def two_pairs(nodes=3, **node):
    tasks = [Task(name, Resources(0.3, 0.3, 0.3)) for name in "abcd"]
    graph = TaskGraph.of(tasks, [Edge("a", "c", 10), Edge("b", "d", 10), Edge("a", "b", 1)])
    return PlacementProblem(graph, tuple(PlacementNode(f"n{i}", **node) for i in range(nodes)))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_task_gets_a_node_and_a_process(name):
    placed = algorithm(name).place(two_pairs(), QUICK)
    spots = placed.locations()
    assert list(spots) == ["a", "b", "c", "d"]
    assert all(node in ("n0", "n1", "n2") and process >= 0 for node, process in spots.values())
    assert sum(placed.weighted().values()) == pytest.approx(1.2)


@pytest.mark.parametrize("name", WITHIN_LIMITS)
def test_tasks_with_much_traffic_come_together(name):
    spots = algorithm(name).place(two_pairs(), QUICK).locations()
    assert spots["a"][0] == spots["c"][0] != spots["b"][0] == spots["d"][0]


@pytest.mark.parametrize("name", ["ra-stream", "annealing", "sp-ant", "metis"])
def test_the_same_seed_gives_the_same_placement(name):
    problem = random_problem(1, tasks=12, nodes=6)
    one, other = (algorithm(name).place(problem, QUICK).locations() for _ in range(2))
    assert one == other


def test_even_deals_out_over_nodes_first_and_then_over_processes():
    placed = algorithm("even").place(two_pairs(nodes=2, processes=2, process_tasks=1), QUICK)
    assert list(placed.locations().values()) == [("n0", 0), ("n1", 0), ("n0", 1), ("n1", 1)]
    assert placed.cut_share == pytest.approx(1 / 21)


def test_even_needs_slots_for_all():
    with pytest.raises(InfeasibleError, match="no room is left for task 'c'"):
        algorithm("even").place(two_pairs(nodes=2, processes=1, process_tasks=1), QUICK)


def test_sp_ant_packs_tasks_with_much_traffic_until_a_node_is_full():
    """Two of these tasks fill a node as far as it goes."""
    tasks = [Task(name, Resources(0.25, 0.1, 0.1)) for name in "abcd"]
    graph = TaskGraph.of(tasks, [Edge("a", "b", 10), Edge("b", "c", 10), Edge("c", "d", 1)])
    nodes = tuple(PlacementNode(f"n{i}", processes=2, process_tasks=2) for i in range(4))
    placed = algorithm("sp-ant").place(PlacementProblem(graph, nodes), QUICK)
    assert placed.locations()["a"][0] == placed.locations()["b"][0]
    assert max(shares.cpu for shares in placed.utilisation.values()) == pytest.approx(0.5)


def test_sp_ant_keeps_to_the_slots():
    problem = random_problem(2, tasks=12, nodes=4, processes=1, process_tasks=3)
    placed = algorithm("sp-ant").place(problem, QUICK)
    assert np.bincount(placed.scheme, minlength=4).tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("seed", range(4))
def test_integer_programming_finds_the_least_cut(seed):
    problem = random_problem(seed, tasks=7, nodes=4)
    cut = quality(problem.graph, least_cut(problem), 4).cut_share
    exactly = algorithm("exact").place(problem, Search(epsilon=1.0)).cut_share
    assert cut == pytest.approx(exactly)


def test_integer_programming_refuses_what_is_too_large_or_does_not_fit():
    with pytest.raises(ConfigError, match="too many for integer programming"):
        least_cut(random_problem(0, tasks=100, nodes=30))
    with pytest.raises(InfeasibleError, match="do not fit on 2 nodes"):
        least_cut(random_problem(0, tasks=8, nodes=2, need=(0.4, 0.5)))


@settings(max_examples=25)
@given(problems())
def test_ra_stream_places_every_problem_that_can_be_packed(problem):
    placed = algorithm("ra-stream").place(problem, QUICK)
    draft = DraftScheme(problem, placed.scheme)
    assert not any(draft.overfull(node) for node in draft.in_use)
    assert all(max(shares) <= 1 + 1e-9 for shares in placed.utilisation.values())


def test_an_unknown_algorithm_is_answered_with_the_one_meant():
    with pytest.raises(ConfigError, match="no placement algorithm is called 'ra-strem'; did you mean 'ra-stream'"):
        algorithm("ra-strem")


@pytest.mark.parametrize(("name", "library"), [("metis", "pymetis"), ("milp", "scipy.optimize")])
def test_a_missing_library_names_the_extra(name, library, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, library, None)
    with pytest.raises(ConfigError, match=r"pip install 'rheostat\[place\]'"):
        algorithm(name).place(two_pairs(), QUICK)
