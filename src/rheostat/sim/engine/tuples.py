"""The tuples in the system: a place in memory for each as long as it is there, and none for one that is lost."""

from rheostat.sim.engine import entered_records
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def new(s: State) -> int:
    i = s.world.free_tuple
    s.world.free_tuple = at(s.tuples, i).next
    s.world.free_tuples -= 1
    return i


@jit
def free(s: State, i: int) -> None:
    at(s.tuples, i).next = s.world.free_tuple
    s.world.free_tuple = i
    s.world.free_tuples += 1


@jit
def lose(s: State, now: float, i: int) -> None:
    """Tuple `i` found a full queue, or went down with its executor."""
    it = at(s.tuples, i)
    at(s.operators, it.operator).lost += 1
    at(s.roots, it.root).lost = 1
    entered_records.settle(s, now, it.root)
    free(s, i)
