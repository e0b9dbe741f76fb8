"""Placement algorithms by name, behind one interface."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rheostat.errors import ConfigError, nearest
from rheostat.placement.baselines.branch_and_bound import exact
from rheostat.placement.baselines.integer_programming import least_cut
from rheostat.placement.baselines.metis import metis
from rheostat.placement.baselines.round_robin import even
from rheostat.placement.baselines.sp_ant import sp_ant
from rheostat.placement.model.placement import Placement
from rheostat.placement.model.problem import PlacementProblem
from rheostat.placement.solvers.annealing import Search
from rheostat.placement.solvers.partition import partition
from rheostat.placement.solvers.processes import processes
from rheostat.placement.solvers.ra_stream import ra_stream

Place = Callable[[PlacementProblem, Search], Placement]


class Algorithm(NamedTuple):
    """A placement algorithm and its summary."""

    summary: str
    place: Place


def _in_processes(find: Callable[[PlacementProblem, Search], np.ndarray]) -> Place:
    """Add Ra-Stream's processes to an algorithm that finds only nodes."""

    def place(problem: PlacementProblem, search: Search) -> Placement:
        scheme = find(problem, search)
        return Placement(problem, scheme, processes(problem, scheme))

    return place


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "ra-stream": Algorithm("fewest nodes within the limits, tasks with much traffic together", ra_stream),
        "annealing": Algorithm(
            "least f over all nodes (Ra-Stream's Algorithm 1 alone)", _in_processes(lambda p, s: partition(p, s))
        ),
        "even": Algorithm("round robin over nodes and processes (Storm)", lambda p, s: even(p)),
        "sp-ant": Algorithm(
            "tasks with much traffic packed together, the others by an ant colony", lambda p, s: sp_ant(p, s.seed)
        ),
        "metis": Algorithm("parts of equal demand with a small cut", _in_processes(lambda p, s: metis(p, s.seed))),
        "exact": Algorithm("the least f there is, for a dozen tasks", _in_processes(lambda p, s: exact(p, s.epsilon))),
        "milp": Algorithm("the least cut there is, for some dozens of tasks", _in_processes(lambda p, s: least_cut(p))),
    }
)


def algorithm(name: str) -> Algorithm:
    """The algorithm called `name`, or an error that suggests the one meant."""
    if name not in ALGORITHMS:
        raise ConfigError(f"no placement algorithm is called {name!r}; {nearest(name, ALGORITHMS)}")
    return ALGORITHMS[name]
