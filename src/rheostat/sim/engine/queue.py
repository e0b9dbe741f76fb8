"""An executor's own queue, first come, first served; tuples can be put first again and be cut out of it."""

from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def append(s: State, i: int, executor: int) -> None:
    it = at(s.executors, executor)
    at(s.tuples, i).next = NONE
    if it.queued == 0:
        it.queue_head = i
    else:
        at(s.tuples, it.queue_tail).next = i
    it.queue_tail = i
    it.queued += 1


@jit
def take(s: State, executor: int) -> int:
    """The first of them, which there must be."""
    it = at(s.executors, executor)
    i = it.queue_head
    it.queue_head = at(s.tuples, i).next
    it.queued -= 1
    return i


@jit
def put_first(s: State, i: int, executor: int) -> None:
    it = at(s.executors, executor)
    if it.queued == 0:
        it.queue_tail = i
    at(s.tuples, i).next = it.queue_head
    it.queue_head = i
    it.queued += 1


@jit
def cut_out(s: State, executor: int, before: int, i: int, following: int) -> None:
    """Take tuple `i`, which stands between the other two, out of the queue: it goes on elsewhere."""
    it = at(s.executors, executor)
    if before == NONE:
        it.queue_head = following
    else:
        at(s.tuples, before).next = following
    if it.queue_tail == i:
        it.queue_tail = before
    it.queued -= 1
    it.handed_on += 1
