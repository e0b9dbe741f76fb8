"""Round robin, as Storm's default scheduler: over all nodes first, then over their processes."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from rheostat.placement.model.draft_scheme import no_room
from rheostat.placement.model.placement import Placement
from rheostat.placement.model.problem import PlacementProblem


def even(problem: PlacementProblem) -> Placement:
    """Each task goes to the next node with a free slot, regardless of demands and traffic."""
    rounds = _rounds(problem)
    scheme, turns = np.array([next(rounds) for _ in problem.graph.names], dtype=np.int64).T
    workers = np.array([node.processes or 1 for node in problem.nodes])
    return Placement(problem, scheme, turns % workers[scheme])


def _rounds(problem: PlacementProblem) -> Iterator[tuple[int, int]]:
    """Pairs of node and round, until no node has slots left."""
    for turn in count():
        open_ = [node for node, slots in enumerate(problem.slots.tolist()) if turn < slots]
        if not open_:
            raise no_room(problem, int(problem.slots.sum()))
        yield from ((node, turn) for node in open_)
