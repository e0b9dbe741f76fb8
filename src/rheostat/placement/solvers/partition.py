"""Partition of the tasks into subgraphs for nodes: balanced, with little traffic between them (Ra-Stream 5.2)."""

import msgspec
import numpy as np

from rheostat.errors import InfeasibleError
from rheostat.placement.model.objective import quality
from rheostat.placement.model.problem import PlacementProblem
from rheostat.placement.solvers.annealing import Search, anneal
from rheostat.placement.solvers.bin_packing import pack
from rheostat.placement.solvers.coarsening import Level, coarser, levels

_FEW = 8
"""Tasks per node at the coarsest level."""
_CYCLES, _CYCLES_OF_LARGE = 4, 2
"""How often a scheme is coarsened and annealed again."""
_LARGE = 5000
"""Number of tasks from which time counts more than the last percent of the cut."""
_SMALL, _MOST_STARTS = 1200, 4
"""Number of tasks up to which there is more than one start, and the most starts."""


def partition(problem: PlacementProblem, search: Search | None = None) -> np.ndarray:
    """A feasible node for each task, with a small f.

    Algorithm 1; for graphs with many tasks per node from coarse to fine: whole neighbourhoods are annealed first,
    single tasks last, and then again from other coarsenings of the best scheme so far.
    """
    search = search or Search()
    starts = [msgspec.structs.replace(search, seed=search.seed + 1000 * start) for start in range(_starts(problem))]
    return min((_from(problem, start) for start in starts), key=lambda scheme: _objective(problem, scheme, search))


def _starts(problem: PlacementProblem) -> int:
    """Small graphs are fast, and worth several starts."""
    return max(1, min(_MOST_STARTS, _SMALL // len(problem.graph)))


def _objective(problem: PlacementProblem, scheme: np.ndarray, search: Search) -> float:
    return quality(problem.graph, scheme, len(problem.nodes)).objective(search.epsilon)


def _from(problem: PlacementProblem, search: Search) -> np.ndarray:
    rng = np.random.default_rng(search.seed)
    scheme = _first(problem, search, rng)
    if len(problem.graph) > _FEW * len(problem.nodes):
        for cycle in range(_CYCLES if len(problem.graph) < _LARGE else _CYCLES_OF_LARGE):
            if search.out_of_time():
                break
            scheme = _again(problem, scheme, search.gentle(cycle), rng)
    return scheme


def _first(problem: PlacementProblem, search: Search, rng: np.random.Generator) -> np.ndarray:
    """A scheme that starts from a packing of the coarsest level that can be packed."""
    views = levels(problem, _FEW * len(problem.nodes), rng)
    while views:
        try:
            packed = pack(views[-1].problem)
        except InfeasibleError:
            views.pop()
        else:
            return _refined(problem, views, anneal(views[-1].problem, packed, search), search.gentle())
    return anneal(problem, pack(problem), search)


def _again(problem: PlacementProblem, scheme: np.ndarray, search: Search, rng: np.random.Generator) -> np.ndarray:
    """At least as good a scheme, by a coarsening in which nodes keep their tasks."""
    views = levels(problem, _FEW * len(problem.nodes), rng, scheme)
    coarse = scheme
    for view in views:
        coarse = coarser(coarse, view.stands_for)
    if views:
        coarse = anneal(views[-1].problem, coarse, search)
    return _refined(problem, views, coarse, search)


def _refined(problem: PlacementProblem, views: list[Level], scheme: np.ndarray, search: Search) -> np.ndarray:
    """From the scheme of the coarsest level to one of the problem itself."""
    finer = [problem, *(view.problem for view in views)]
    for view, its_problem in zip(reversed(views), reversed(finer[:-1]), strict=True):
        scheme = anneal(its_problem, scheme[view.stands_for], search)
    return scheme
