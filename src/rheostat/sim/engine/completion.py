"""Work is done, of one tuple or of a whole batch: it is counted, and what it gave is sent on."""

from rheostat.sim.engine import entered_records, substreams, tuples
from rheostat.sim.engine.batches import leave_task, trigger
from rheostat.sim.engine.codes import BATCH_GREEDY, NONE, OSG
from rheostat.sim.engine.grouping import osg
from rheostat.sim.engine.heap import DONE, pop, replace
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import start, stop, take_next
from rheostat.sim.engine.state import State
from rheostat.sim.engine.streams import emit
from rheostat.sim.histogram import BINS, bin_of


@jit
def finish_service(s: State, now: float, executor: int) -> None:
    """`executor` is done with its tuple and takes the next."""
    it = at(s.executors, executor)
    i = it.current
    it.completed += 1
    stop(s, now, executor)
    following = take_next(s, executor)
    if following == NONE:
        pop(s)
    else:
        it.done_code = replace(s, start(s, now, executor, following), DONE, executor)
    _complete(s, now, i, executor)


@jit
def finish_batch(s: State, now: float, operator: int) -> None:
    """All rows of the batch are done at once; the next one is due when there is something to do."""
    it = at(s.operators, operator)
    it.batch_count += 1
    it.batch_duration_s += now - it.batch_started
    it.batch_code = NONE
    it.batch_rows = 0
    i = it.batch_head
    it.batch_head = NONE
    while i != NONE:
        following = at(s.tuples, i).next
        executor = at(s.tuples, i).executor
        at(s.executors, executor).completed += 1
        leave_task(s, executor)
        _complete(s, now, i, executor)
        i = following
    trigger(s, now, operator)


@jit
def _complete(s: State, now: float, i: int, executor: int) -> None:
    """Tuple `i` has been processed: count it, write what it gives, and let its root know."""
    done = at(s.tuples, i)
    latency = now - done.arrival
    _note_latency(s, done.operator, latency)
    if done.substream != NONE:
        substreams.leave(s, i, latency)
    if at(s.operators, done.operator).grouping in (OSG, BATCH_GREEDY):
        osg.completed(s, i, executor)
    emit(s, now, done.operator, done.root, done.value, executor)
    entered_records.settle(s, now, done.root)
    tuples.free(s, i)


@jit
def _note_latency(s: State, operator: int, latency: float) -> None:
    it = at(s.operators, operator)
    it.completed += 1
    it.latency_sum += latency
    it.latency_squares += latency * latency
    it.latency_max = max(it.latency_max, latency)
    at(s.histogram, (1 + operator) * BINS + bin_of(latency)).count += 1
