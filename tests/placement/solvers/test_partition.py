"""The objective, the annealing and the exact optimum."""

import importlib.util
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from task_graphs import problems, random_problem, sparse_graph

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.placement import (
    Annealing,
    Edge,
    PlacementNode,
    PlacementProblem,
    Resources,
    ResourceWeights,
    Search,
    Task,
    TaskGraph,
    UtilisationLimits,
)
from rheostat.placement.baselines.branch_and_bound import exact
from rheostat.placement.baselines.metis import metis
from rheostat.placement.model.draft_scheme import DraftScheme
from rheostat.placement.model.objective import quality
from rheostat.placement.solvers import annealing
from rheostat.placement.solvers.annealing import anneal
from rheostat.placement.solvers.bin_packing import pack
from rheostat.placement.solvers.coarsening import coarser, levels
from rheostat.placement.solvers.partition import partition

QUICK = Search(annealing=Annealing(cooling=0.9))


def objective(problem, scheme, epsilon=0.7):
    return quality(problem.graph, scheme, len(problem.nodes)).objective(epsilon)


def fits(problem, scheme):
    draft = DraftScheme(problem, scheme)
    return not any(draft.overfull(node) for node in draft.in_use)


def all_schemes(problem):
    """Every assignment of tasks to nodes in which each node holds what it gets."""
    for scheme in product(range(len(problem.nodes)), repeat=len(problem.graph)):
        if fits(problem, scheme):
            yield np.array(scheme)


def test_the_objective_of_a_graph_by_hand():
    graph = TaskGraph.of([Task(name) for name in "abcd"], [Edge("a", "b", 6), Edge("c", "d", 2), Edge("b", "c", 2)])
    found = quality(graph, np.array([0, 0, 1, 1]), 2)
    assert found.cut_share == pytest.approx(0.2)
    assert found.spread == pytest.approx(0.2)
    assert found.balance == pytest.approx(0.5)
    assert found.objective(0.7) == pytest.approx(0.2)
    assert quality(graph, np.array([0, 0, 0, 0]), 2).objective() == pytest.approx(0.3 * 0.5)


def test_the_objective_knows_no_scale():
    one, other = (
        TaskGraph.of([Task(n) for n in "abc"], [Edge("a", "b", f), Edge("b", "c", 3 * f)]) for f in (1.0, 1e6)
    )
    scheme = np.array([0, 1, 1])
    assert quality(one, scheme, 3) == pytest.approx(quality(other, scheme, 3))


def test_without_traffic_every_scheme_is_as_good():
    graph = TaskGraph.of([Task("a"), Task("b")])
    assert quality(graph, np.array([0, 1]), 2) == (0.0, 0.0, 0.0)
    assert partition(PlacementProblem(graph, (PlacementNode("x"), PlacementNode("y")))).tolist() in ([0, 0], [0, 1])


@pytest.mark.parametrize("seed", range(4))
def test_the_enumeration_finds_what_brute_force_finds(seed):
    problem = random_problem(seed, tasks=5, nodes=3)
    assert objective(problem, exact(problem)) == pytest.approx(min(objective(problem, s) for s in all_schemes(problem)))


def test_the_enumeration_minds_that_nodes_differ():
    graph = TaskGraph.of([Task(n, Resources(0.4, 0.4, 0.4)) for n in "abc"], [Edge("a", "b", 5), Edge("b", "c", 1)])
    nodes = (PlacementNode("small", Resources(0.6, 0.6, 0.6)), PlacementNode("large", Resources(1.2, 1.2, 1.2)))
    problem = PlacementProblem(graph, nodes)
    assert objective(problem, exact(problem)) == pytest.approx(min(objective(problem, s) for s in all_schemes(problem)))
    assert exact(problem).tolist() == [1, 1, 0]


def test_the_enumeration_refuses_what_would_take_for_ever():
    with pytest.raises(ConfigError, match="14 tasks are too many for the exact optimum: at most 13"):
        exact(random_problem(0, tasks=14, nodes=3))


@pytest.mark.parametrize("find", [exact, partition])
def test_tasks_that_do_not_fit_together_are_refused(find):
    problem = random_problem(0, tasks=8, nodes=2, need=(0.4, 0.5))
    with pytest.raises(InfeasibleError, match="more nodes, or raise the limit"):
        find(problem)


@pytest.mark.parametrize("seed", range(6))
def test_annealing_comes_within_5_percent_of_the_optimum(seed):
    problem = random_problem(seed, tasks=6 + seed % 4, nodes=3 + seed % 3)
    assert objective(problem, partition(problem)) <= 1.05 * objective(problem, exact(problem)) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_annealing_comes_within_5_percent_of_the_optimum_of_12_tasks(seed):
    problem = random_problem(100 + seed, tasks=12, nodes=5 + seed % 3, need=(0.05, 0.35))
    assert objective(problem, partition(problem)) <= 1.05 * objective(problem, exact(problem)) + 1e-12


@settings(max_examples=25)
@given(problems())
def test_every_scheme_found_fits(problem):
    scheme = partition(problem, QUICK)
    assert fits(problem, scheme)
    assert objective(problem, scheme) <= objective(problem, pack(problem)) + 1e-12


def test_the_same_seed_finds_the_same_scheme():
    problem = random_problem(3, tasks=30, nodes=6, need=(0.05, 0.15))
    assert partition(problem, QUICK).tolist() == partition(problem, QUICK).tolist()


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="needs numba")
def test_compiled_code_finds_the_same_scheme_as_plain_python(monkeypatch):
    problem = random_problem(5, tasks=40, nodes=8, need=(0.05, 0.15))
    found = []
    for compiled in (False, True):
        monkeypatch.setattr(annealing, "_worth_compiling", lambda work, it=compiled: it)
        found.append(partition(problem, QUICK).tolist())
    assert found[0] == found[1]


def test_time_that_is_up_ends_the_search_with_the_best_scheme_so_far():
    problem = random_problem(6, tasks=20, nodes=6, need=(0.05, 0.15))
    asked = iter([False] * 5 + [True] * 1000)
    scheme = partition(problem, Search(out_of_time=lambda: next(asked)))
    assert fits(problem, scheme)
    assert next(asked)


def test_a_floor_keeps_nodes_from_being_emptied():
    graph = TaskGraph.of([Task(n, Resources(0.3, 0.3, 0.3)) for n in "abcd"], [Edge("a", "b", 9), Edge("c", "d", 1)])
    problem = PlacementProblem(graph, (PlacementNode("x"), PlacementNode("y"), PlacementNode("z")))
    apart = np.array([0, 1, 1, 2])
    kept = anneal(problem, apart, QUICK, np.full(3, 0.3))
    assert min(np.bincount(kept, minlength=3)) == 1


def test_a_coarse_view_keeps_demands_sizes_and_traffic():
    problem = PlacementProblem(sparse_graph(0, 300), tuple(PlacementNode(f"n{i}", Resources(100.0)) for i in range(4)))
    for view in levels(problem, 32, np.random.default_rng(0)):
        graph = view.problem.graph
        assert graph.total == pytest.approx(problem.graph.total)
        assert graph.demands.sum() == pytest.approx(problem.graph.demands.sum())
        assert graph.sizes.sum() == 300
    assert len(graph) < 60


def test_a_coarse_view_of_a_scheme_has_the_same_objective():
    problem = PlacementProblem(sparse_graph(1, 300), tuple(PlacementNode(f"n{i}", Resources(100.0)) for i in range(4)))
    scheme = pack(problem)
    coarse = scheme
    for view in levels(problem, 32, np.random.default_rng(0), scheme):
        coarse = coarser(coarse, view.stands_for)
        assert objective(view.problem, coarse) == pytest.approx(objective(problem, scheme))


def as_balanced_as(graph, parts, nodes):
    """The problem of a cut at least as balanced as `parts`: no node may have more than the fullest part."""
    most = np.bincount(parts, weights=graph.demands[:, 0], minlength=nodes).max()
    supply = Resources(float(most), 1.0, 1.0)
    return PlacementProblem(
        graph,
        tuple(PlacementNode(f"n{i}", supply) for i in range(nodes)),
        UtilisationLimits(0.0, 1.0, ResourceWeights(1.0, 0.0)),
    )


def cuts(graph, nodes, seed=0):
    """The cut share of METIS, and ours at equal balance."""
    even = PlacementProblem(
        graph,
        tuple(PlacementNode(f"n{i}", Resources(1e6)) for i in range(nodes)),
        UtilisationLimits(0.0, 1.0, ResourceWeights(1.0, 0.0)),
    )
    theirs = metis(even, seed)
    ours = partition(as_balanced_as(graph, theirs, nodes), Search(epsilon=1.0, seed=seed))
    return quality(graph, theirs, nodes).cut_share, quality(graph, ours, nodes).cut_share


def test_the_cut_is_no_worse_than_that_of_metis_at_equal_balance():
    pytest.importorskip("pymetis")
    theirs, ours = cuts(sparse_graph(0, 100), 8)
    assert ours <= theirs


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "nodes"), [(100, 10), (300, 8), (1000, 20), (3000, 30), (10_000, 100)])
def test_the_cut_of_large_graphs_is_no_worse_than_that_of_metis_at_equal_balance(tasks, nodes):
    pytest.importorskip("pymetis")
    theirs, ours = cuts(sparse_graph(1, tasks), nodes)
    assert ours <= theirs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cold": 3.0}, "must fall"),
        ({"cooling": 1.0}, "cooling 1.0"),
        ({"proposals": 0}, "proposals 0"),
        ({"guided": 1}, "guided 1"),
    ],
)
def test_an_annealing_that_would_not_end_is_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        Annealing(**change)
