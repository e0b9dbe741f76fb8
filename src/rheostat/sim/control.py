"""What the plant does to the tuples when the cluster changes: hold, hand over, pause, resume, put back.

Called between two runs of the event loop. All keep the order within a substream and lose nothing.
"""

from rheostat.sim.engine import (
    append_held,
    append_waiting,
    enqueue,
    serve,
    stop_serving,
    take_next,
    take_waiting,
    trigger,
)
from rheostat.sim.jit import at, jit
from rheostat.sim.state import NONE, State


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
    it = at(s.executors, executor)
    if before == NONE:
        it.queue_head = following
    else:
        at(s.tuples, before).next = following
    if it.queue_tail == i:
        it.queue_tail = before
    it.queued -= 1
    it.arrived -= 1  # it will count where it is served


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
def resume(s: State, executor: int, operator: int) -> None:
    """Take back one pause; when it was the last, `executor` starts on what waits for it."""
    it = at(s.executors, executor)
    it.paused -= 1
    if it.paused == 0 and it.current == NONE:
        i = take_next(s, executor, operator)
        if i != NONE:
            serve(s, s.world.now, executor, i)


@jit
def interrupt(s: State, executor: int) -> None:
    """`executor` fails: what it was serving goes back to the head of its queue, as if it had not been started."""
    it = at(s.executors, executor)
    i = it.current
    if i == NONE:
        return
    stop_serving(s, s.world.now, executor)
    if it.queued == 0:
        it.queue_tail = i
        at(s.tuples, i).next = NONE
    else:
        at(s.tuples, i).next = it.queue_head
    it.queue_head = i
    it.queued += 1


@jit
def give_back(s: State, executor: int, operator: int) -> None:
    """Put the whole queue of `executor`, in order, at the end of the operator's own list."""
    it = at(s.executors, executor)
    i = it.queue_head
    for _ in range(it.queued):
        following = at(s.tuples, i).next
        at(s.tuples, i).executor = NONE
        append_waiting(s, i, operator)
        i = following
    it.arrived -= it.queued
    it.queued = 0


@jit
def deal_out(s: State, operator: int) -> None:
    """Deal what the operator itself keeps to its executors in turn: it came while none could take it."""
    it = at(s.operators, operator)
    if it.servers == 0:
        return
    for _ in range(it.waiting):
        i = take_waiting(s, operator)
        it.turn = it.turn % it.servers
        enqueue(s, s.world.now, at(s.server, operator * s.world.width + it.turn).executor, i)
        it.turn += 1


@jit
def wake_batches(s: State, operator: int) -> None:
    """Let the operator's next batch come when it is due, after whatever kept it from starting."""
    trigger(s, s.world.now, operator)


@jit
def abandon_batch(s: State, operator: int) -> None:
    """The batch under way fails: its rows go back to the head of the input and will be processed again."""
    it = at(s.operators, operator)
    it.batch_code = NONE
    if it.batch_rows == 0:
        return
    if it.waiting == 0:
        it.waiting_tail = it.batch_tail
    else:
        at(s.tuples, it.batch_tail).next = it.waiting_head
    it.waiting_head = it.batch_head
    it.waiting += it.batch_rows
    it.batch_head = NONE
    it.batch_rows = 0
