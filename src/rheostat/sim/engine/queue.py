"""A queue, first come, first served: an executor's own, or the one that an operator keeps for whoever takes from it.

Operators queue what all their executors share, the input of the next batch, and what came while nobody served. `it` is
the record of the executor or operator whose queue it is.
"""

from typing import Any

from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def append(s: State, it: Any, i: int) -> None:
    """Tuple `i` comes last."""
    at(s.tuples, i).next = NONE
    if it.queued == 0:
        it.queue_head = i
    else:
        at(s.tuples, it.queue_tail).next = i
    it.queue_tail = i
    it.queued += 1


@jit
def take(s: State, it: Any) -> int:
    """The first of them, which there must be."""
    i = it.queue_head
    it.queue_head = at(s.tuples, i).next
    it.queued -= 1
    return i


@jit
def put_first(s: State, it: Any, first: int, last: int, count: int) -> None:
    """`count` tuples, chained from `first` to `last`, come before all others."""
    if it.queued == 0:
        it.queue_tail = last
    at(s.tuples, last).next = it.queue_head
    it.queue_head = first
    it.queued += count


@jit
def cut_out(s: State, it: Any, before: int, i: int, following: int) -> None:
    """Take tuple `i`, which stands between the other two, out of the queue."""
    if before == NONE:
        it.queue_head = following
    else:
        at(s.tuples, before).next = following
    if it.queue_tail == i:
        it.queue_tail = before
    it.queued -= 1
