"""Executors of an operator: those that serve it, the next by round robin, and what a grouping remembers of each."""

from typing import Any

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.state import EngineState


@jit
def server(s: EngineState, operator: int, position: int) -> int:
    """The executor at `position` among those that serve `operator`."""
    return int(at(s.server, operator * s.world.width + position).executor)


@jit
def next_round_robin(s: EngineState, operator: int) -> int:
    """The next executor in turn, also for groupings that know nothing better yet."""
    it = at(s.operators, operator)
    position = it.turn if it.turn < it.servers else 0
    it.turn = position + 1
    return server(s, operator, position)


@jit
def task_of(s: EngineState, operator: int, executor: int) -> Any:
    """What the grouping of `operator` remembers of `executor`."""
    return at(s.tasks, at(s.operators, operator).slot * s.world.width + executor)
