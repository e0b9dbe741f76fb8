"""What the plant does to the tuples when the cluster changes: hold, hand over, pause, resume, put back.

Called between two runs of the event loop. All keep the order within a substream, and all but two lose nothing.
"""

from typing import Any

from rheostat.sim.choose import resized
from rheostat.sim.engine import (
    append_held,
    append_waiting,
    enqueue,
    leave_task,
    lose,
    serve,
    stop_serving,
    take_idle,
    take_next,
    take_waiting,
    trigger,
    wake_sources,
)
from rheostat.sim.heap import cancel
from rheostat.sim.jit import at, entry, jit
from rheostat.sim.state import NONE, SHARED_QUEUE, State, tables_at
from rheostat.sim.turns import next_in_turn

# What can be done, each by the function of that name.
WAKE_SOURCES, WAKE_BATCHES, HOLD, GIVE, RESUME, INTERRUPT, GIVE_BACK, DEAL_OUT, ABANDON_BATCH, RESIZED = range(10)
LOSE_QUEUE, LOSE_WAITING = 10, 11


@entry
def act(tables: Any, verb: int, subject: int, target: int) -> None:
    """Do one of the above. There is one way in for all, since each would be compiled with most of the event loop."""
    s = tables_at(tables)
    if verb == WAKE_SOURCES:
        wake_sources(s)
    elif verb == WAKE_BATCHES:
        trigger(s, s.world.now, subject)
    elif verb == HOLD:
        hold(s, subject)
    elif verb == GIVE:
        give(s, subject, target)
    elif verb == RESUME:
        resume(s, subject)
    elif verb == INTERRUPT:
        interrupt(s, subject)
    elif verb == GIVE_BACK:
        give_back(s, subject, target)
    elif verb == DEAL_OUT:
        deal_out(s, subject)
    elif verb == ABANDON_BATCH:
        abandon_batch(s, subject)
    elif verb == LOSE_QUEUE:
        lose_queue(s, subject)
    elif verb == LOSE_WAITING:
        lose_waiting(s, subject)
    else:
        resized(s, subject)


@jit
def hold(s: State, substream: int) -> None:
    """Keep the substream's waiting tuples, and those that come, away from any executor."""
    at(s.substreams, substream).held = 1
    owner = at(s.substreams, substream).owner
    it = at(s.executors, owner)
    i, kept = it.queue_head, NONE
    for _ in range(it.queued):
        following = at(s.tuples, i).next
        if at(s.tuples, i).substream == substream:
            _cut_out(s, owner, kept, i, following)
            append_held(s, i, substream)
        else:
            kept = i
        i = following


@jit
def _cut_out(s: State, executor: int, before: int, i: int, following: int) -> None:
    """Take tuple `i`, which stands between the other two, out of the queue of `executor`."""
    it = at(s.executors, executor)
    if before == NONE:
        it.queue_head = following
    else:
        at(s.tuples, before).next = following
    if it.queue_tail == i:
        it.queue_tail = before
    it.queued -= 1
    it.handed_on += 1


@jit
def give(s: State, substream: int, executor: int) -> None:
    """Make `executor` the substream's owner and give it what was held, in order."""
    it = at(s.substreams, substream)
    it.owner = executor
    it.held = 0
    i = it.held_head
    it.held_head = NONE
    while i != NONE:
        following = at(s.tuples, i).next
        enqueue(s, s.world.now, executor, i)
        i = following


@jit
def resume(s: State, executor: int) -> None:
    """Take back one pause; when it was the last, `executor` starts on what waits for it."""
    it = at(s.executors, executor)
    it.paused -= 1
    if it.paused == 0 and it.current == NONE:
        i = take_next(s, executor)
        if i != NONE:
            serve(s, s.world.now, executor, i)


@jit
def interrupt(s: State, executor: int) -> None:
    """`executor` fails: what it was serving goes back to where it waited, as if it had not been started."""
    it = at(s.executors, executor)
    i = it.current
    if i == NONE:
        return
    cancel(s, it.done_code)
    stop_serving(s, s.world.now, executor)
    at(s.operators, at(s.tuples, i).operator).service_sum -= it.done - s.world.now
    substream = at(s.tuples, i).substream
    if substream != NONE and at(s.substreams, substream).held:
        _put_first_of_held(s, i, substream)
        it.handed_on += 1
    else:
        _put_first_in_queue(s, i, executor)


@jit
def lose_queue(s: State, executor: int) -> None:
    """`executor` is killed: what it was serving and what it had queued is gone."""
    interrupt(s, executor)
    it = at(s.executors, executor)
    while it.queued > 0:
        i = it.queue_head
        it.queue_head = at(s.tuples, i).next
        it.queued -= 1
        it.handed_on += 1
        lose(s, s.world.now, i)


@jit
def lose_waiting(s: State, operator: int) -> None:
    """What the executors of `operator` would have helped themselves to is gone."""
    home = at(s.operators, operator).home
    while at(s.operators, home).waiting > 0:
        lose(s, s.world.now, take_waiting(s, home))


@jit
def _put_first_in_queue(s: State, i: int, executor: int) -> None:
    it = at(s.executors, executor)
    if it.queued == 0:
        it.queue_tail = i
    at(s.tuples, i).next = it.queue_head
    it.queue_head = i
    it.queued += 1


@jit
def _put_first_of_held(s: State, i: int, substream: int) -> None:
    it = at(s.substreams, substream)
    if it.held_head == NONE:
        it.held_tail = i
    at(s.tuples, i).next = it.held_head
    it.held_head = i


@jit
def give_back(s: State, executor: int, operator: int) -> None:
    """Put what `executor` has queued for `operator`, in order, at the end of the operator's own list."""
    it = at(s.executors, executor)
    i, kept = it.queue_head, NONE
    for _ in range(it.queued):
        following = at(s.tuples, i).next
        if at(s.tuples, i).operator == operator:
            _cut_out(s, executor, kept, i, following)
            append_waiting(s, i, at(s.operators, operator).home)
        else:
            kept = i
        i = following


@jit
def deal_out(s: State, operator: int) -> None:
    """Give what the operator itself keeps to its executors: it came, or came back, while none could take it."""
    it = at(s.operators, operator)
    if it.servers == 0:
        return
    for _ in range(at(s.operators, it.home).waiting):
        executor = take_idle(s, it.home) if it.mode == SHARED_QUEUE else next_in_turn(s, operator)
        if executor == NONE:
            return
        enqueue(s, s.world.now, executor, take_waiting(s, it.home))


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
