"""Completion: a tuple or a whole batch is done; it is counted, and its output is sent on."""

from rheostat.sim.engine.calendar import DONE, pop, replace
from rheostat.sim.engine.flow import entered_records, tuples
from rheostat.sim.engine.flow.streams import emit
from rheostat.sim.engine.grouping import osg
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.latency_histogram import BINS, bin_of
from rheostat.sim.engine.service import substreams
from rheostat.sim.engine.service.batch_limit import batch_ended
from rheostat.sim.engine.service.batches import leave_task, trigger
from rheostat.sim.engine.service.executor_service import start, stop, take_next
from rheostat.sim.engine.tables.codes import BATCH_GREEDY, NONE, OSG
from rheostat.sim.engine.tables.state import EngineState


@jit
def finish_service(s: EngineState, now: float, executor: int) -> None:
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
def finish_batch(s: EngineState, now: float, operator: int) -> None:
    """All rows of the batch are done at once; the next batch is due when rows wait."""
    it = at(s.operators, operator)
    it.batch_count += 1
    it.batch_duration_s += now - it.batch_started
    it.finished_overhead_s = it.batch_overhead_s
    it.finished_task_count = it.batch_task_count
    batch_ended(s, now, operator)
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
def _complete(s: EngineState, now: float, i: int, executor: int) -> None:
    """Tuple `i` is processed: count it, emit its output, and update its root."""
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
def _note_latency(s: EngineState, operator: int, latency: float) -> None:
    it = at(s.operators, operator)
    it.completed += 1
    it.latency_sum += latency
    it.latency_squares += latency * latency
    it.latency_max = max(it.latency_max, latency)
    at(s.histogram, (1 + operator) * BINS + bin_of(latency)).count += 1
