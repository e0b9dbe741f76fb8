"""Micro-batches: when the next one starts, which executor gets which row, and when it ends."""

from rheostat.sim.engine import draw
from rheostat.sim.engine.calendar import BATCH_END, TRIGGER, push
from rheostat.sim.engine.flow.distance import receiving_s
from rheostat.sim.engine.grouping import batch_greedy
from rheostat.sim.engine.grouping.choose import choose
from rheostat.sim.engine.grouping.executors import server
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import cores
from rheostat.sim.engine.service.batch_limit import admitted_rows
from rheostat.sim.engine.service.batch_shares import book
from rheostat.sim.engine.service.executor_service import note_service
from rheostat.sim.engine.tables.codes import BATCH_GREEDY, BY_KEY, NONE
from rheostat.sim.engine.tables.state import EngineState


@jit
def trigger(s: EngineState, now: float, operator: int) -> None:
    """Schedule the operator's next micro-batch if rows wait and no batch is scheduled or running.

    It goes through the calendar even when it is due at once: rows that arrive at the same moment belong to it.
    """
    it = at(s.operators, operator)
    if it.batch_code == NONE and it.queued > 0 and it.paused == 0:
        due = max(now, it.batch_started + it.batch_trigger_s)
        it.batch_code = push(s, due, TRIGGER, operator)


@jit
def start_batch(s: EngineState, now: float, operator: int) -> None:
    """Take the waiting rows into a batch. It ends when, after the fixed cost, the slowest executor is done."""
    it = at(s.operators, operator)
    it.batch_code = NONE
    if it.paused > 0 or it.servers == 0:
        return
    it.batch_started = now
    it.batch_head = it.queue_head
    it.batch_rows = admitted_rows(s, operator)
    if it.grouping == BATCH_GREEDY:
        batch_greedy.assign(s, operator)
    for _ in range(it.batch_rows):
        it.batch_tail = it.queue_head
        _give_to_task(s, it.batch_tail, operator)
        it.queue_head = at(s.tuples, it.batch_tail).next
    at(s.tuples, it.batch_tail).next = NONE
    it.queued -= it.batch_rows
    it.batch_code = push(s, _end(s, now + _overhead_s(s, operator), operator), BATCH_END, operator)


@jit
def _give_to_task(s: EngineState, i: int, operator: int) -> None:
    row = at(s.tuples, i)
    row.executor = choose(s, i, operator)
    it = at(s.executors, row.executor)
    work = draw.service_s(s, operator, row.value) + receiving_s(s, row.sender, row.executor)
    time = work / it.speed
    row.service_s = time
    note_service(s, operator, time)
    if it.rows == 0:
        cores.occupy(s, it.node)
    it.rows += 1
    it.arrived += 1
    it.work_s += time


@jit
def leave_task(s: EngineState, executor: int) -> None:
    """A row of a batch is done, or abandoned, on `executor`."""
    it = at(s.executors, executor)
    it.rows -= 1
    if it.rows == 0:
        cores.vacate(s, it.node)


@jit
def _overhead_s(s: EngineState, operator: int) -> float:
    """The fixed cost of the batch, before its work: c0 + c1·tasks."""
    it = at(s.operators, operator)
    tasks = it.batch_tasks
    if tasks == 0:
        tasks = it.substreams if it.grouping == BY_KEY else it.servers
    fixed = it.batch_fixed_s + it.batch_task_s * tasks
    it.batch_overhead_s += fixed
    it.batch_task_count += tasks
    return fixed


@jit
def _end(s: EngineState, ready: float, operator: int) -> float:
    """The end of a batch whose tasks start at `ready`: that of the longest share, all being worked on in parallel."""
    end = ready
    for position in range(at(s.operators, operator).servers):
        executor = server(s, operator, position)
        it = at(s.executors, executor)
        if it.work_s + it.extra_s > 0.0:
            book(s, ready, operator, executor)
            end = max(end, it.free_at)
    return end
