"""As few nodes as the demand allows, and every task in exactly one place."""

from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from task_graphs import problems, random_problem

from rheostat.errors import InfeasibleError
from rheostat.placement import (
    Annealing,
    Edge,
    PlacementNode,
    PlacementProblem,
    Resources,
    Search,
    Task,
    TaskGraph,
    UtilisationLimits,
    ra_stream,
)
from rheostat.placement.model.draft_scheme import DraftScheme
from rheostat.placement.solvers.bin_packing import fewest_conceivable, pack, pack_tightly
from rheostat.placement.solvers.consolidation import consolidate

QUICK = Search(annealing=Annealing(cooling=0.9))


def equal_tasks(number, need, nodes, edges=()):
    tasks = [Task(f"t{i}", Resources(need, need, need)) for i in range(number)]
    return PlacementProblem(TaskGraph.of(tasks, edges), tuple(PlacementNode(f"n{i}") for i in range(nodes)))


def requirements(problem, scheme):
    draft = DraftScheme(problem, scheme)
    return [draft.requirement(node) for node in draft.in_use]


def all_fit(problem, scheme):
    draft = DraftScheme(problem, scheme)
    return not any(draft.overfull(node) for node in draft.in_use)


def fewest(problem):
    """The least number of nodes, by brute force."""
    return min(
        len(set(scheme))
        for scheme in product(range(len(problem.nodes)), repeat=len(problem.graph))
        if all_fit(problem, scheme)
    )


def test_nearly_empty_nodes_are_merged():
    problem = equal_tasks(6, 0.3, nodes=6)
    scheme = consolidate(problem, np.arange(6))
    assert len(set(scheme.tolist())) == 3
    assert requirements(problem, scheme) == pytest.approx([0.6, 0.6, 0.6])


def test_an_overfull_node_hands_out_the_task_that_costs_the_cut_least():
    edges = [Edge("t0", "t1", 100), Edge("t1", "t2", 1)]
    problem = equal_tasks(3, 0.3, nodes=2, edges=edges)
    assert consolidate(problem, np.zeros(3, dtype=int)).tolist() == [0, 0, 1]


def test_an_overfull_node_that_nobody_can_relieve_names_a_task():
    problem = equal_tasks(6, 0.3, nodes=2)
    with pytest.raises(InfeasibleError, match="no room is left for task 't2'"):
        consolidate(problem, np.zeros(6, dtype=int))


def test_the_tasks_of_a_node_are_spread_where_it_cannot_be_merged_as_a_whole():
    problem = equal_tasks(9, 0.2, nodes=4)
    scheme = consolidate(problem, np.array([0, 0, 0, 1, 1, 2, 2, 3, 3]))
    assert len(set(scheme.tolist())) == 3


def test_a_nearly_empty_node_pulls_tasks_from_those_that_can_spare_them():
    needs = [0.5, 0.2, 0.35, 0.35]
    tasks = [Task(f"t{i}", Resources(need, need, need)) for i, need in enumerate(needs)]
    problem = PlacementProblem(
        TaskGraph.of(tasks), (PlacementNode("x"), PlacementNode("y")), UtilisationLimits(under=0.5, over=0.75)
    )
    scheme = consolidate(problem, np.array([0, 0, 1, 1]))
    assert min(requirements(problem, scheme)) >= 0.5


def test_a_full_processor_is_not_hidden_by_idle_memory():
    tasks = [Task(f"t{i}", Resources(cpu=0.6)) for i in range(2)]
    problem = PlacementProblem(TaskGraph.of(tasks), (PlacementNode("x"), PlacementNode("y")))
    assert sorted(consolidate(problem, np.array([0, 1])).tolist()) == [0, 1]


def test_a_task_above_the_limit_gets_a_node_of_its_own():
    tasks = [Task("large", Resources(0.9, 0.9, 0.9)), Task("small", Resources(0.01, 0.01, 0.01))]
    placed = ra_stream(
        PlacementProblem(TaskGraph.of(tasks, [Edge("large", "small", 9)]), (PlacementNode("x"), PlacementNode("y"))),
        QUICK,
    )
    assert placed.nodes_used == 2


@settings(max_examples=40)
@given(problems())
def test_it_ends_with_every_task_in_exactly_one_place_within_the_limits(problem):
    scheme = pack(problem)
    found = consolidate(problem, scheme)
    assert len(found) == len(problem.graph)
    assert all(0 <= node < len(problem.nodes) for node in found.tolist())
    assert len(np.unique(found)) <= len(np.unique(scheme))
    assert all_fit(problem, found)


@settings(max_examples=40)
@given(problems(), st.data())
def test_it_ends_from_any_scheme(problem, data):
    node = st.integers(0, len(problem.nodes) - 1)
    scheme = data.draw(st.lists(node, min_size=len(problem.graph), max_size=len(problem.graph)))
    with suppress(InfeasibleError):
        assert all_fit(problem, consolidate(problem, np.array(scheme)))


@pytest.mark.parametrize("seed", range(6))
def test_no_node_more_than_needed_is_used(seed):
    problem = random_problem(seed, tasks=6, nodes=4, need=(0.1, 0.45))
    placed = ra_stream(problem, QUICK)
    assert placed.nodes_used == fewest(problem)
    assert all_fit(problem, placed.scheme)


@settings(max_examples=40)
@given(problems(most_tasks=5, most_nodes=4))
def test_no_scheme_uses_fewer_nodes_than_are_conceivable(problem):
    assert fewest_conceivable(problem) <= len(np.unique(pack(problem)))


def test_a_tight_packing_is_none_where_there_is_no_room():
    assert pack_tightly(equal_tasks(6, 0.4, nodes=2)) is None
