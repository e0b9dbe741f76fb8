"""An executor breaks down: what it had goes back to where it waited, or is lost where nobody can read it again.

What goes back keeps the order within its substream.
"""

from rheostat.sim.engine import queue, substreams, waiting
from rheostat.sim.engine.batches import leave_task
from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.heap import cancel
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import stop
from rheostat.sim.engine.state import State
from rheostat.sim.engine.tuples import lose


@jit
def interrupt(s: State, executor: int) -> None:
    """What `executor` was serving goes back to where it waited, as if it had not been started."""
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
        queue.put_first(s, i, executor)


@jit
def give_back(s: State, executor: int, operator: int) -> None:
    """Put what `executor` has queued for `operator`, in order, at the end of the operator's own list."""
    it = at(s.executors, executor)
    i, kept = it.queue_head, NONE
    for _ in range(it.queued):
        following = at(s.tuples, i).next
        if at(s.tuples, i).operator == operator:
            queue.cut_out(s, executor, kept, i, following)
            waiting.append(s, i, at(s.operators, operator).home)
        else:
            kept = i
        i = following


@jit
def lose_queue(s: State, executor: int) -> None:
    """`executor` is killed: what it was serving and what it had queued is gone."""
    interrupt(s, executor)
    it = at(s.executors, executor)
    while it.queued > 0:
        it.handed_on += 1
        lose(s, s.world.now, queue.take(s, executor))


@jit
def lose_waiting(s: State, operator: int) -> None:
    """What the executors of `operator` would have helped themselves to is gone."""
    home = at(s.operators, operator).home
    while at(s.operators, home).waiting > 0:
        lose(s, s.world.now, waiting.take(s, home))


@jit
def abandon_batch(s: State, operator: int) -> None:
    """The batch under way fails: its rows go back to the head of the input and will be processed again."""
    it = at(s.operators, operator)
    if it.batch_code != NONE:
        cancel(s, it.batch_code)
        it.batch_code = NONE
    if it.batch_rows == 0:
        return
    _give_up_tasks(s, operator)
    if it.waiting == 0:
        it.waiting_tail = it.batch_tail
    else:
        at(s.tuples, it.batch_tail).next = it.waiting_head
    it.waiting_head = it.batch_head
    it.waiting += it.batch_rows
    it.batch_head = NONE
    it.batch_rows = 0


@jit
def _give_up_tasks(s: State, operator: int) -> None:
    """The executors of the batch's rows do no more of them; what was booked ahead is taken back."""
    i = at(s.operators, operator).batch_head
    while i != NONE:
        executor = at(s.tuples, i).executor
        it = at(s.executors, executor)
        if it.free_at > s.world.now:
            undone = min(it.free_at - s.world.now, it.ahead_s)
            it.busy_s -= undone
            at(s.operators, operator).service_sum -= undone
            it.free_at = s.world.now
        it.handed_on += 1
        leave_task(s, executor)
        i = at(s.tuples, i).next
