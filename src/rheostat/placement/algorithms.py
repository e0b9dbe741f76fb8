"""All ways to place tasks, behind one interface and by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rheostat.errors import ConfigError, nearest
from rheostat.placement.anneal import Search
from rheostat.placement.ant import sp_ant
from rheostat.placement.even import even
from rheostat.placement.exact import exact
from rheostat.placement.metis import metis
from rheostat.placement.milp import least_cut
from rheostat.placement.partition import partition
from rheostat.placement.placement import Placement
from rheostat.placement.problem import Problem
from rheostat.placement.processes import processes
from rheostat.placement.rastream import ra_stream

Place = Callable[[Problem, Search], Placement]


class Algorithm(NamedTuple):
    """A way to place tasks, and what it does in words."""

    summary: str
    place: Place


def _in_processes(find: Callable[[Problem, Search], np.ndarray]) -> Place:
    """What finds nodes only gets its processes as Ra-Stream's are found."""

    def place(problem: Problem, search: Search) -> Placement:
        scheme = find(problem, search)
        return Placement(problem, scheme, processes(problem, scheme))

    return place


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "ra-stream": Algorithm("fewest nodes within the limits, chatty tasks together", ra_stream),
        "annealing": Algorithm(
            "least f over all nodes (Ra-Stream's Algorithm 1 alone)", _in_processes(lambda p, s: partition(p, s))
        ),
        "even": Algorithm("round robin over nodes and processes (Storm)", lambda p, s: even(p)),
        "sp-ant": Algorithm(
            "chatty tasks packed together, the others by an ant colony", lambda p, s: sp_ant(p, s.seed)
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
