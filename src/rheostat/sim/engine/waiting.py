"""The list of tuples that an operator keeps itself: a shared queue, the input of the next batch, or nobody serves."""

from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def append(s: State, i: int, operator: int) -> None:
    it = at(s.operators, operator)
    at(s.tuples, i).next = NONE
    if it.waiting == 0:
        it.waiting_head = i
    else:
        at(s.tuples, it.waiting_tail).next = i
    it.waiting_tail = i
    it.waiting += 1


@jit
def take(s: State, operator: int) -> int:
    """The first of them, which there must be."""
    it = at(s.operators, operator)
    i = it.waiting_head
    it.waiting_head = at(s.tuples, i).next
    it.waiting -= 1
    return i
