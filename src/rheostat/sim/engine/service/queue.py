"""Queue, first come, first served: an executor's own, or an operator's.

An operator queues what its executors share, the input of its next batch, and what arrived while no executor served.
`it` is the record of the executor or operator that has the queue.
"""

from typing import Any

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def append(s: EngineState, it: Any, i: int) -> None:
    """Add tuple `i` at the end."""
    at(s.tuples, i).next = NONE
    if it.queued == 0:
        it.queue_head = i
    else:
        at(s.tuples, it.queue_tail).next = i
    it.queue_tail = i
    it.queued += 1


@jit
def take(s: EngineState, it: Any) -> int:
    """Remove and return the first tuple, which must exist."""
    i = it.queue_head
    it.queue_head = at(s.tuples, i).next
    it.queued -= 1
    return i


@jit
def put_first(s: EngineState, it: Any, first: int, last: int, count: int) -> None:
    """Put `count` tuples, chained from `first` to `last`, before all others."""
    if it.queued == 0:
        it.queue_tail = last
    at(s.tuples, last).next = it.queue_head
    it.queue_head = first
    it.queued += count


@jit
def unlink(s: EngineState, it: Any, before: int, i: int, following: int) -> None:
    """Remove tuple `i`, which stands between the other two."""
    if before == NONE:
        it.queue_head = following
    else:
        at(s.tuples, before).next = following
    if it.queue_tail == i:
        it.queue_tail = before
    it.queued -= 1
