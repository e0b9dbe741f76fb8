"""Ra-Stream: from a task graph to a placement by partition, consolidation and assignment to nodes and processes."""

import numpy as np

from rheostat.placement.model.draft_scheme import DraftScheme
from rheostat.placement.model.placement import Placement
from rheostat.placement.model.problem import PlacementProblem
from rheostat.placement.solvers.annealing import Search, anneal
from rheostat.placement.solvers.bin_packing import fewest_conceivable, pack_tightly
from rheostat.placement.solvers.consolidation import consolidate
from rheostat.placement.solvers.node_assignment import assign_nodes
from rheostat.placement.solvers.partition import partition
from rheostat.placement.solvers.processes import TaskLocations, processes

_SMALL = 1200
"""Number of tasks up to which a consolidated scheme is annealed from hot again."""


def ra_stream(problem: PlacementProblem, search: Search | None = None, now: TaskLocations | None = None) -> Placement:
    """The fewest nodes within the limits, with tasks of much traffic together on nodes and in processes.

    `now` is where the tasks run, if they do: among equal nodes, and for the numbers of processes, a group goes where
    most of its tasks are already.
    """
    search = search or Search()
    scheme = fewest_nodes(problem, consolidate(problem, partition(problem, search)))
    scheme = assign_nodes(problem, refined(problem, scheme, search), None if now is None else now.scheme)
    return Placement(problem, scheme, processes(problem, scheme, now))


def fewest_nodes(problem: PlacementProblem, scheme: np.ndarray) -> np.ndarray:
    """`scheme`, or a tight packing if that needs fewer nodes; it ignores traffic, so it is the second choice."""
    if len(np.unique(scheme)) <= fewest_conceivable(problem):
        return scheme
    packed = pack_tightly(problem)
    if packed is None or len(np.unique(packed)) >= len(np.unique(scheme)):
        return scheme
    return packed


def refined(problem: PlacementProblem, scheme: np.ndarray, search: Search) -> np.ndarray:
    """A scheme of smaller f on the same nodes, none of which falls below T_under, or below its present R if less."""
    used = np.unique(scheme)
    draft = DraftScheme(problem, scheme)
    floor = np.array([min(problem.limits.under, draft.requirement(node)) for node in used.tolist()])
    search = search if len(problem.graph) <= _SMALL else search.gentle()
    better: np.ndarray = used[anneal(problem.on(used.tolist()), np.searchsorted(used, scheme), search, floor)]
    return better
