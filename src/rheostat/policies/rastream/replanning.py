"""Replanning: a new placement with few moves, with a reserve, as a repair of the present one, or for an overload.

Records follow executors: one that moves changes what its neighbours get, and a plan made for the old shares may not fit
the new ones. A plan with few moves stays valid for longer, and so does one with a reserve.
"""

import dataclasses

import numpy as np

from rheostat.errors import InfeasibleError
from rheostat.placement import Costs, Placement, PlacementProblem, Search, ra_stream
from rheostat.placement.model.draft_scheme import DraftScheme
from rheostat.placement.solvers.bin_packing import pack
from rheostat.placement.solvers.consolidation import consolidate
from rheostat.placement.solvers.processes import TaskLocations, processes


def with_fewest_moves(now: Placement, then: Placement) -> Placement:
    """`then`, without the moves that neither save a node nor shorten the path of a record."""
    draft = DraftScheme(then.problem, then.scheme)
    for task, home in enumerate(now.scheme.tolist()):
        away = draft.where[task]
        if home == away or not draft.tasks[home] or not draft.fits([task], home):
            continue
        traffic = draft.traffic(task)
        if traffic.get(home, 0.0) >= traffic.get(away, 0.0) and len(draft.tasks[away]) > 1:
            draft.put(task, home)
    spots = TaskLocations(now.scheme, now.processes)
    return Placement(then.problem, draft.scheme, processes(then.problem, draft.scheme, spots))


def with_reserve(problem: PlacementProblem, share: float) -> PlacementProblem:
    """The same with demands larger by `share`, but none larger than the largest node."""
    most = np.array([node.supply for node in problem.nodes]).max(axis=0)
    demands = np.minimum((1 + share) * problem.graph.demands, np.maximum(most, problem.graph.demands))
    return PlacementProblem(dataclasses.replace(problem.graph, demands=demands), problem.nodes, problem.limits)


def with_problem(problem: PlacementProblem, placement: Placement) -> Placement:
    """A placement that was found for other demands, as one of `problem`."""
    return Placement(problem, placement.scheme, placement.processes)


def repaired(now: Placement, fresh: Placement, costs: Costs, margin: float) -> Placement | None:
    """The present placement with full nodes relieved (Algorithm 2), if a `fresh` one needs as many nodes and has no
    more than `margin` less communication."""
    if fresh.nodes_used != now.nodes_used:
        return None
    try:
        scheme = consolidate(now.problem, now.scheme)
    except InfeasibleError:
        return None
    repair = Placement(now.problem, scheme, processes(now.problem, scheme, TaskLocations(now.scheme, now.processes)))
    close = fresh.ways.cost(costs) >= (1 - margin) * repair.ways.cost(costs)
    return repair if close and repair.nodes_used <= fresh.nodes_used else None


_HALVINGS = 6
"""Demands come within less than 2 % of the most that the nodes hold."""


def for_overload(now: Placement, search: Search) -> Placement:
    """A placement when executors need more than all nodes have within the limits; fails where slots are too few.

    Ra-Stream leaves that case open. To keep a consolidated placement would leave some nodes full and others idle just
    when the load is highest. All demands are cut by the same share until they fit, so that all nodes are used.
    """
    within = _scaled(now.problem, _largest_share(now.problem))
    then = ra_stream(within, search, TaskLocations(now.scheme, now.processes))
    return with_problem(now.problem, with_fewest_moves(with_problem(within, now), then))


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
