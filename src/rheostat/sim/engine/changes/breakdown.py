"""Breakdown: the tuples of a failed executor go back to where they waited, or are lost where they cannot be read again.

Tuples that go back keep the order within their substream.
"""

from rheostat.sim.engine.calendar import cancel
from rheostat.sim.engine.flow.tuples import lose
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import queue, substreams
from rheostat.sim.engine.service.batch_shares import take_back
from rheostat.sim.engine.service.batches import leave_task
from rheostat.sim.engine.service.executor_service import stop
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def interrupt(s: EngineState, executor: int) -> None:
    """Put what `executor` was serving back to where it waited, as if it had not been started."""
    it = at(s.executors, executor)
    i = it.current
    if i == NONE:
        return
    cancel(s, it.done_code)
    stop(s, s.world.now, executor)
    at(s.operators, at(s.tuples, i).operator).service_sum -= it.done - s.world.now
    substream = at(s.tuples, i).substream
    if substream != NONE and at(s.substreams, substream).held:
        substreams.keep_first(s, i, substream)
        it.handed_on += 1
    else:
        queue.put_first(s, it, i, i, 1)


@jit
def give_back(s: EngineState, executor: int, operator: int) -> None:
    """Put what `executor` has queued for `operator`, in order, at the end of the operator's own list."""
    it = at(s.executors, executor)
    i, kept = it.queue_head, NONE
    for _ in range(it.queued):
        following = at(s.tuples, i).next
        if at(s.tuples, i).operator == operator:
            queue.unlink(s, it, kept, i, following)
            it.handed_on += 1
            queue.append(s, at(s.operators, at(s.operators, operator).home), i)
        else:
            kept = i
        i = following


@jit
def lose_queue(s: EngineState, executor: int) -> None:
    """`executor` is killed: what it was serving and had queued is lost."""
    interrupt(s, executor)
    it = at(s.executors, executor)
    while it.queued > 0:
        it.handed_on += 1
        lose(s, s.world.now, queue.take(s, it))


@jit
def lose_waiting(s: EngineState, operator: int) -> None:
    """The shared queue of `operator` is lost."""
    home = at(s.operators, at(s.operators, operator).home)
    while home.queued > 0:
        lose(s, s.world.now, queue.take(s, home))


@jit
def abandon_batch(s: EngineState, operator: int) -> None:
    """The running batch fails: its rows go back to the head of the input and are processed again."""
    it = at(s.operators, operator)
    if it.batch_code != NONE:
        cancel(s, it.batch_code)
        it.batch_code = NONE
    if it.batch_rows == 0:
        return
    _give_up_tasks(s, operator)
    queue.put_first(s, it, it.batch_head, it.batch_tail, it.batch_rows)
    it.batch_head = NONE
    it.batch_rows = 0


@jit
def _give_up_tasks(s: EngineState, operator: int) -> None:
    """The executors stop work on the batch's rows; what was booked and is not done is taken back."""
    i = at(s.operators, operator).batch_head
    while i != NONE:
        executor = at(s.tuples, i).executor
        take_back(s, s.world.now, operator, executor)
        at(s.executors, executor).handed_on += 1
        leave_task(s, executor)
        i = at(s.tuples, i).next
