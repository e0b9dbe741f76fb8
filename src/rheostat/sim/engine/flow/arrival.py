"""Arrival: a tuple reaches its operator and goes to an executor, waits for one or for the next batch, or is lost."""

from rheostat.sim.engine.flow.tuples import lose
from rheostat.sim.engine.grouping.choose import choose, substream_of
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import idle_executors, queue, substreams
from rheostat.sim.engine.service.batches import trigger
from rheostat.sim.engine.service.executor_service import enqueue
from rheostat.sim.engine.tables.codes import BY_KEY, NONE, OWN_QUEUES, SHARED_QUEUE
from rheostat.sim.engine.tables.state import EngineState


@jit
def arrive(s: EngineState, now: float, i: int) -> None:
    """Tuple `i` reaches its operator."""
    operator = at(s.tuples, i).operator
    at(s.tuples, i).arrival = now
    it = at(s.operators, operator)
    it.arrived += 1
    _note_gap(s, operator, _sent(s, now, i))
    if it.mode == OWN_QUEUES:
        if it.grouping == BY_KEY:
            _arrive_by_key(s, now, i, operator)
        else:
            _arrive_at_any(s, now, i, operator)
    elif it.mode == SHARED_QUEUE:
        _arrive_at_shared_queue(s, now, i, operator)
    else:
        _arrive_for_batch(s, now, i, operator)


@jit
def _sent(s: EngineState, now: float, i: int) -> float:
    """When tuple `i` was sent: records that a source hands over in one batch have entered one by one."""
    it = at(s.tuples, i)
    return at(s.roots, it.root).entry if it.sender == NONE else now


@jit
def _note_gap(s: EngineState, operator: int, now: float) -> None:
    it = at(s.operators, operator)
    gap = now - it.last_arrival
    if it.last_arrival >= 0.0:
        it.gap_count += 1
        it.gap_sum += gap
        it.gap_squares += gap * gap
    it.last_arrival = now


@jit
def _arrive_by_key(s: EngineState, now: float, i: int, operator: int) -> None:
    substream = substream_of(s, i, operator)
    it = at(s.substreams, substream)
    if it.held:
        substreams.join(s, i, substream)
        substreams.keep(s, i, substream)
    elif at(s.executors, it.owner).queued >= at(s.operators, operator).capacity:
        lose(s, now, i)
    else:
        substreams.join(s, i, substream)
        enqueue(s, now, it.owner, i)


@jit
def _arrive_at_any(s: EngineState, now: float, i: int, operator: int) -> None:
    executor = at(s.tuples, i).executor
    if executor == NONE or not at(s.executors, executor).accepting:
        if at(s.operators, operator).servers == 0:
            _wait(s, now, i, operator)
            return
        executor = choose(s, i, operator)
    if at(s.executors, executor).queued >= at(s.operators, operator).capacity:
        lose(s, now, i)
    else:
        enqueue(s, now, executor, i)


@jit
def _arrive_at_shared_queue(s: EngineState, now: float, i: int, operator: int) -> None:
    executor = idle_executors.take(s, at(s.operators, operator).home)
    if executor == NONE:
        _wait(s, now, i, operator)
    else:
        enqueue(s, now, executor, i)


@jit
def _wait(s: EngineState, now: float, i: int, operator: int) -> None:
    """Tuple `i` joins the queue that executors share, if there is room."""
    it = at(s.operators, operator)
    home = at(s.operators, it.home)
    if home.queued >= it.capacity:
        lose(s, now, i)
    else:
        queue.append(s, home, i)


@jit
def _arrive_for_batch(s: EngineState, now: float, i: int, operator: int) -> None:
    it = at(s.operators, operator)
    if it.queued >= it.capacity:
        lose(s, now, i)
        return
    if it.grouping == BY_KEY:
        substreams.join(s, i, substream_of(s, i, operator))
    queue.append(s, it, i)
    trigger(s, now, operator)
