"""Subgraphs for nodes: balanced, and with little traffic between them (Ra-Stream 5.2)."""

import msgspec
import numpy as np

from rheostat.errors import InfeasibleError
from rheostat.placement.anneal import Search, anneal
from rheostat.placement.coarsen import Level, coarser, levels
from rheostat.placement.objective import quality
from rheostat.placement.pack import pack
from rheostat.placement.problem import Problem

_FEW = 8
"""Tasks for each node in the coarsest view."""
_CYCLES, _CYCLES_OF_LARGE = 4, 2
"""How often a scheme is looked at from afar again."""
_LARGE = 5000
"""Tasks from which on time counts more than the last percent of the cut."""
_SMALL, _MOST_STARTS = 1200, 4
"""Tasks up to which there is more than one try, and how many tries at most."""


def partition(problem: Problem, search: Search | None = None) -> np.ndarray:
    """A node for each task so that f is small and every node holds what it gets.

    Algorithm 1, and for graphs with many tasks for each node from coarse to fine: whole neighbourhoods are
    annealed first, single tasks last, and then again from other coarse views of the best scheme so far.
    """
    search = search or Search()
    starts = [msgspec.structs.replace(search, seed=search.seed + 1000 * start) for start in range(_starts(problem))]
    return min((_from(problem, start) for start in starts), key=lambda scheme: _objective(problem, scheme, search))


def _starts(problem: Problem) -> int:
    """Small graphs are soon done, and worth several tries."""
    return max(1, min(_MOST_STARTS, _SMALL // len(problem.graph)))


def _objective(problem: Problem, scheme: np.ndarray, search: Search) -> float:
    return quality(problem.graph, scheme, len(problem.nodes)).objective(search.epsilon)


def _from(problem: Problem, search: Search) -> np.ndarray:
    rng = np.random.default_rng(search.seed)
    scheme = _first(problem, search, rng)
    if len(problem.graph) > _FEW * len(problem.nodes):
        for cycle in range(_CYCLES if len(problem.graph) < _LARGE else _CYCLES_OF_LARGE):
            if search.out_of_time():
                break
            scheme = _again(problem, scheme, search.gentle(cycle), rng)
    return scheme


def _first(problem: Problem, search: Search, rng: np.random.Generator) -> np.ndarray:
    """From a packing of the coarsest view that can be packed."""
    views = levels(problem, _FEW * len(problem.nodes), rng)
    while views:
        try:
            packed = pack(views[-1].problem)
        except InfeasibleError:
            views.pop()
        else:
            return _refined(problem, views, anneal(views[-1].problem, packed, search), search.gentle())
    return anneal(problem, pack(problem), search)


def _again(problem: Problem, scheme: np.ndarray, search: Search, rng: np.random.Generator) -> np.ndarray:
    """At least as good a scheme, by way of a coarse view in which nodes keep what they have."""
    views = levels(problem, _FEW * len(problem.nodes), rng, scheme)
    coarse = scheme
    for view in views:
        coarse = coarser(coarse, view.stands_for)
    if views:
        coarse = anneal(views[-1].problem, coarse, search)
    return _refined(problem, views, coarse, search)


def _refined(problem: Problem, views: list[Level], scheme: np.ndarray, search: Search) -> np.ndarray:
    """From the scheme of the coarsest view to one of the problem itself."""
    finer = [problem, *(view.problem for view in views)]
    for view, its_problem in zip(reversed(views), reversed(finer[:-1]), strict=True):
        scheme = anneal(its_problem, scheme[view.stands_for], search)
    return scheme
