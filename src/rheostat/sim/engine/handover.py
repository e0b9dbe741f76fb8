"""Tuples change hands: held with their substream, given to an executor, taken up after a pause. None is lost.

All keep the order within a substream.
"""

from rheostat.sim.engine import idle, queue, substreams
from rheostat.sim.engine.codes import NONE, SHARED_QUEUE
from rheostat.sim.engine.grouping.turns import next_in_turn
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import enqueue, serve, take_next
from rheostat.sim.engine.state import State


@jit
def hold(s: State, substream: int) -> None:
    """Keep the substream's waiting tuples, and those that come, away from any executor."""
    at(s.substreams, substream).held = 1
    it = at(s.executors, at(s.substreams, substream).owner)
    i, kept = it.queue_head, NONE
    for _ in range(it.queued):
        following = at(s.tuples, i).next
        if at(s.tuples, i).substream == substream:
            queue.cut_out(s, it, kept, i, following)
            it.handed_on += 1
            substreams.keep(s, i, substream)
        else:
            kept = i
        i = following


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
def deal_out(s: State, operator: int) -> None:
    """Give what the operator itself keeps to its executors: it came, or came back, while none could take it."""
    it = at(s.operators, operator)
    home = at(s.operators, it.home)
    if it.servers == 0:
        return
    for _ in range(home.queued):
        executor = idle.take(s, it.home) if it.mode == SHARED_QUEUE else next_in_turn(s, operator)
        if executor == NONE:
            return
        enqueue(s, s.world.now, executor, queue.take(s, home))
