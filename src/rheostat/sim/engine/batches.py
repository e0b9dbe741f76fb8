"""Micro-batches begin: when the next one is due, who gets which row of it, and when it will be done."""

from rheostat.sim.engine import cores, draw
from rheostat.sim.engine.codes import BATCH_GREEDY, BY_KEY, NONE
from rheostat.sim.engine.distance import receiving_s
from rheostat.sim.engine.grouping import batch_greedy
from rheostat.sim.engine.grouping.choose import choose
from rheostat.sim.engine.grouping.turns import server
from rheostat.sim.engine.heap import BATCH_END, TRIGGER, push
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import note_service
from rheostat.sim.engine.shares import book
from rheostat.sim.engine.state import State


@jit
def trigger(s: State, now: float, operator: int) -> None:
    """Schedule the operator's next micro-batch if there is something to do and none is scheduled or running.

    Through the calendar even when it is due at once: what arrives at the same moment belongs to it.
    """
    it = at(s.operators, operator)
    if it.batch_code == NONE and it.queued > 0 and it.paused == 0:
        due = max(now, it.batch_started + it.batch_trigger_s)
        it.batch_code = push(s, due, TRIGGER, operator)


@jit
def start_batch(s: State, now: float, operator: int) -> None:
    """Take what waits into a batch. It ends when the slowest executor has done its share, after the fixed cost."""
    it = at(s.operators, operator)
    it.batch_code = NONE
    if it.paused > 0 or it.servers == 0:
        return
    it.batch_started = now
    it.batch_head = it.queue_head
    it.batch_rows = min(it.queued, it.batch_limit)
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
def _give_to_task(s: State, i: int, operator: int) -> None:
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
def leave_task(s: State, executor: int) -> None:
    """A row of a batch is done, or given up, on `executor`."""
    it = at(s.executors, executor)
    it.rows -= 1
    if it.rows == 0:
        cores.vacate(s, it.node)


@jit
def _overhead_s(s: State, operator: int) -> float:
    """What the batch costs beside its work, before it: c0 + c1·tasks."""
    it = at(s.operators, operator)
    tasks = it.batch_tasks
    if tasks == 0:
        tasks = it.substreams if it.grouping == BY_KEY else it.servers
    fixed = it.batch_fixed_s + it.batch_task_s * tasks
    it.batch_overhead_s += fixed
    it.batch_task_count += tasks
    return fixed


@jit
def _end(s: State, ready: float, operator: int) -> float:
    """When the batch will be done whose tasks can begin at `ready`: with the last share of work, all in parallel."""
    end = ready
    for position in range(at(s.operators, operator).servers):
        executor = server(s, operator, position)
        it = at(s.executors, executor)
        if it.work_s + it.extra_s > 0.0:
            book(s, ready, operator, executor)
            end = max(end, it.free_at)
    return end
