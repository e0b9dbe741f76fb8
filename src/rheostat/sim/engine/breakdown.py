"""An executor breaks down: what it had goes back to where it waited, or is lost where nobody can read it again.

What goes back keeps the order within its substream.
"""

from rheostat.sim.engine import queue, substreams
from rheostat.sim.engine.batches import leave_task
from rheostat.sim.engine.codes import NONE
from rheostat.sim.engine.heap import cancel
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import stop
from rheostat.sim.engine.shares import take_back
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
        queue.put_first(s, it, i, i, 1)


@jit
def give_back(s: State, executor: int, operator: int) -> None:
    """Put what `executor` has queued for `operator`, in order, at the end of the operator's own list."""
    it = at(s.executors, executor)
    i, kept = it.queue_head, NONE
    for _ in range(it.queued):
        following = at(s.tuples, i).next
        if at(s.tuples, i).operator == operator:
            queue.cut_out(s, it, kept, i, following)
            it.handed_on += 1
            queue.append(s, at(s.operators, at(s.operators, operator).home), i)
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
        lose(s, s.world.now, queue.take(s, it))


@jit
def lose_waiting(s: State, operator: int) -> None:
    """What the executors of `operator` would have helped themselves to is gone."""
    home = at(s.operators, at(s.operators, operator).home)
    while home.queued > 0:
        lose(s, s.world.now, queue.take(s, home))


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
    queue.put_first(s, it, it.batch_head, it.batch_tail, it.batch_rows)
    it.batch_head = NONE
    it.batch_rows = 0


@jit
def _give_up_tasks(s: State, operator: int) -> None:
    """The executors of the batch's rows do no more of them; what was booked ahead is taken back."""
    i = at(s.operators, operator).batch_head
    while i != NONE:
        executor = at(s.tuples, i).executor
        take_back(s, s.world.now, operator, executor)
        at(s.executors, executor).handed_on += 1
        leave_task(s, executor)
        i = at(s.tuples, i).next
