"""Executors in turn: what round robin does, and every grouping that knows nothing better yet."""

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def server(s: State, operator: int, position: int) -> int:
    """The executor at `position` among those that serve `operator`."""
    return int(at(s.server, operator * s.world.width + position).executor)


@jit
def next_in_turn(s: State, operator: int) -> int:
    it = at(s.operators, operator)
    position = it.turn if it.turn < it.servers else 0
    it.turn = position + 1
    return server(s, operator, position)
