"""Handover: tuples are held with their substream, given to an executor, or resumed after a pause.

None is lost, and the order within a substream is kept.
"""

from rheostat.sim.engine.grouping.executors import next_round_robin
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import idle_executors, queue, substreams
from rheostat.sim.engine.service.executor_service import enqueue, serve, take_next
from rheostat.sim.engine.tables.codes import NONE, SHARED_QUEUE
from rheostat.sim.engine.tables.state import EngineState


@jit
def hold(s: EngineState, substream: int) -> None:
    """Keep the substream's tuples, those waiting and those to come, away from any executor."""
    at(s.substreams, substream).held = 1
    it = at(s.executors, at(s.substreams, substream).owner)
    i, kept = it.queue_head, NONE
    for _ in range(it.queued):
        following = at(s.tuples, i).next
        if at(s.tuples, i).substream == substream:
            queue.unlink(s, it, kept, i, following)
            it.handed_on += 1
            substreams.keep(s, i, substream)
        else:
            kept = i
        i = following


@jit
def give(s: EngineState, substream: int, executor: int) -> None:
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
def resume(s: EngineState, executor: int) -> None:
    """End one pause; if it was the last, `executor` starts on its queue."""
    it = at(s.executors, executor)
    it.paused -= 1
    if it.paused == 0 and it.current == NONE:
        i = take_next(s, executor)
        if i != NONE:
            serve(s, s.world.now, executor, i)


@jit
def dispatch_waiting(s: EngineState, operator: int) -> None:
    """Give executors the tuples that the operator itself keeps: they arrived, or returned, while none was free."""
    it = at(s.operators, operator)
    home = at(s.operators, it.home)
    if it.servers == 0:
        return
    for _ in range(home.queued):
        executor = idle_executors.take(s, it.home) if it.mode == SHARED_QUEUE else next_round_robin(s, operator)
        if executor == NONE:
            return
        enqueue(s, s.world.now, executor, queue.take(s, home))
