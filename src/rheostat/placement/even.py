"""Round robin, as Storm's default scheduler deals tasks out: over all nodes first, then over their processes."""

from collections.abc import Iterator
from itertools import count

import numpy as np

from rheostat.placement.draft import no_room
from rheostat.placement.placement import Placement
from rheostat.placement.problem import Problem


def even(problem: Problem) -> Placement:
    """Task after task to the next node that has a slot left. It looks neither at demands nor at traffic."""
    rounds = _rounds(problem)
    scheme, turns = np.array([next(rounds) for _ in problem.graph.names], dtype=np.int64).T
    workers = np.array([node.processes or 1 for node in problem.nodes])
    return Placement(problem, scheme, turns % workers[scheme])


def _rounds(problem: Problem) -> Iterator[tuple[int, int]]:
    """Node and round, without end as long as a node has slots."""
    for turn in count():
        open_ = [node for node, slots in enumerate(problem.slots.tolist()) if turn < slots]
        if not open_:
            raise no_room(problem, int(problem.slots.sum()))
        yield from ((node, turn) for node in open_)
