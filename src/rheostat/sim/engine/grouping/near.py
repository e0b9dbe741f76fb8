"""Nearest first, as Storm shuffles since 2.0: a record stays in its process or node while somebody there keeps up."""

from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.distance import ELSEWHERE, distance
from rheostat.sim.engine.grouping.turns import next_in_turn, server
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State

_SHORT = 2
"""Records in a queue up to which its executor keeps up."""


@jit
def choose(s: State, i: int, operator: int) -> int:
    """In turn among the nearest executors with a short queue; among all where there is none."""
    sender = at(s.tuples, i).sender
    it = at(s.operators, operator)
    if sender != NONE:
        for level in range(ELSEWHERE):
            for step in range(it.servers):
                position = (it.turn + step) % it.servers
                executor = server(s, operator, position)
                if distance(s, sender, executor) == level and at(s.executors, executor).queued <= _SHORT:
                    it.turn = position + 1
                    return executor
    return next_in_turn(s, operator)
