"""Where executors go when they need more than all nodes have within the limits.

Ra-Stream leaves that case open. To hold would keep a consolidated plan, full nodes beside idle ones, just when the load
is highest. As few nodes as are enough means all of them then, and none fuller than it must be.
"""

import dataclasses

from rheostat.errors import InfeasibleError
from rheostat.placement import Placement, PlacementProblem, Search, ra_stream
from rheostat.placement.solvers.bin_packing import pack
from rheostat.placement.solvers.processes import TaskLocations
from rheostat.policies.rastream.fewest_moves import staying
from rheostat.policies.rastream.reserve import posed

_HALVINGS = 6
"""Demands are brought within less than 2 % of the most that the nodes hold."""


def crowded(now: Placement, search: Search) -> Placement:
    """A placement of what the nodes hold of every executor's needs, all cut alike; fails where slots are too few."""
    within = _scaled(now.problem, _largest_share(now.problem))
    then = ra_stream(within, search, TaskLocations(now.scheme, now.processes))
    return posed(now.problem, staying(posed(within, now), then))


def _largest_share(problem: PlacementProblem) -> float:
    """The largest share of all demands that the nodes hold, by halving."""
    fits, too_much = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (fits + too_much) / 2
        fits, too_much = (middle, too_much) if _packs(_scaled(problem, middle)) else (fits, middle)
    return fits


def _packs(problem: PlacementProblem) -> bool:
    try:
        pack(problem)
    except InfeasibleError:
        return False
    return True


def _scaled(problem: PlacementProblem, share: float) -> PlacementProblem:
    graph = dataclasses.replace(problem.graph, demands=problem.graph.demands * share)
    return PlacementProblem(graph, problem.nodes, problem.limits)
