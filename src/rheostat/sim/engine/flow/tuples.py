"""Tuples in the system: their places in memory, taken from and returned to a free list."""

from rheostat.sim.engine.flow import entered_records
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.state import EngineState


@jit
def new(s: EngineState) -> int:
    i = s.world.free_tuple
    s.world.free_tuple = at(s.tuples, i).next
    s.world.free_tuples -= 1
    return i


@jit
def free(s: EngineState, i: int) -> None:
    at(s.tuples, i).next = s.world.free_tuple
    s.world.free_tuple = i
    s.world.free_tuples += 1


@jit
def lose(s: EngineState, now: float, i: int) -> None:
    """Tuple `i` met a full queue, or was lost with its executor."""
    it = at(s.tuples, i)
    at(s.operators, it.operator).lost += 1
    at(s.roots, it.root).lost = 1
    entered_records.settle(s, now, it.root)
    free(s, i)
