"""Ra-Stream's way from a task graph to a placement: partition, consolidate, schedule."""

import numpy as np

from rheostat.placement.anneal import Search, anneal
from rheostat.placement.consolidate import consolidate
from rheostat.placement.draft import Draft
from rheostat.placement.pack import fewest_conceivable, pack_tightly
from rheostat.placement.partition import partition
from rheostat.placement.placement import Placement
from rheostat.placement.problem import Problem
from rheostat.placement.processes import Spots, processes
from rheostat.placement.schedule import schedule

_SMALL = 1200
"""Tasks up to which a consolidated scheme is annealed all over again."""


def ra_stream(problem: Problem, search: Search | None = None, now: Spots | None = None) -> Placement:
    """The fewest nodes within the limits, chatty tasks together on them and in their processes.

    `now` is where the tasks are, if they are anywhere: of nodes that are alike a subgraph gets that where most of
    its tasks are already, and so does a process.
    """
    search = search or Search()
    scheme = fewest_nodes(problem, consolidate(problem, partition(problem, search)))
    scheme = schedule(problem, refined(problem, scheme, search), None if now is None else now.scheme)
    return Placement(problem, scheme, processes(problem, scheme, now))


def fewest_nodes(problem: Problem, scheme: np.ndarray) -> np.ndarray:
    """`scheme`, or a tight packing if that gets by with fewer nodes: it heeds no traffic, and so is second choice."""
    if len(np.unique(scheme)) <= fewest_conceivable(problem):
        return scheme
    packed = pack_tightly(problem)
    if packed is None or len(np.unique(packed)) >= len(np.unique(scheme)):
        return scheme
    return packed


def refined(problem: Problem, scheme: np.ndarray, search: Search) -> np.ndarray:
    """A scheme of smaller f on the same nodes, none of which falls below T_under or below what it has by this."""
    used = np.unique(scheme)
    draft = Draft(problem, scheme)
    floor = np.array([min(problem.limits.under, draft.requirement(node)) for node in used.tolist()])
    search = search if len(problem.graph) <= _SMALL else search.gentle()
    better: np.ndarray = used[anneal(problem.on(used.tolist()), np.searchsorted(used, scheme), search, floor)]
    return better
