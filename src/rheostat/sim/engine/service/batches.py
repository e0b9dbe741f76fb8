"""Micro-batches: when the next one starts, which executor gets which row, and when it ends.

Rows that may go anywhere are dealt out in even tasks, and an executor takes the next task when it is free, as on Spark:
also one that comes while the batch runs. Other groupings choose an executor for each row; on Spark the task of a
substream waits for its executor too.
"""

import math

from rheostat.sim.engine import draw
from rheostat.sim.engine.calendar import BATCH_END, TRIGGER, cancel, kind_of, push
from rheostat.sim.engine.flow.distance import receiving_s
from rheostat.sim.engine.grouping import batch_greedy
from rheostat.sim.engine.grouping.choose import choose
from rheostat.sim.engine.grouping.executors import server
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import cores, io
from rheostat.sim.engine.service.batch_limit import admitted_rows
from rheostat.sim.engine.service.batch_shares import book, last_end, take_back_row, take_back_task
from rheostat.sim.engine.service.executor_service import note_service
from rheostat.sim.engine.tables.codes import BATCH_GREEDY, BY_KEY, LOAD_AWARE, NONE, ROUND_ROBIN
from rheostat.sim.engine.tables.state import EngineState

PARTS_PER_EXECUTOR = 3
"""Tasks for each executor with load-aware grouping, as on Spark (`rheostat.spark.query.grouping.row_groupings`)."""


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
    """Take the waiting rows into a batch. It ends when, after the fixed cost, the last executor is done."""
    it = at(s.operators, operator)
    it.batch_code = NONE
    if it.paused > 0 or it.servers == 0:
        return
    it.batch_started = now
    it.batch_head = it.queue_head
    it.batch_rows = admitted_rows(s, operator)
    if it.grouping == BATCH_GREEDY:
        batch_greedy.assign(s, operator)
    tasks = _tasks(s, operator)
    it.batch_ready = ready = now + _overhead_s(s, operator, tasks)
    if _is_dealt_in_tasks(s, operator):
        _deal_tasks(s, ready, operator, tasks)
    else:
        for _ in range(it.batch_rows):
            _give_next(s, ready, operator, choose(s, it.queue_head, operator))
    at(s.tuples, it.batch_tail).next = NONE
    it.queued -= it.batch_rows
    it.batch_code = push(s, _end(s, ready, operator), BATCH_END, operator)


@jit
def _is_dealt_in_tasks(s: EngineState, operator: int) -> bool:
    """Whether any executor may take any row."""
    return at(s.operators, operator).grouping in (ROUND_ROBIN, LOAD_AWARE)


@jit
def _tasks(s: EngineState, operator: int) -> int:
    """By default one for each executor that serves, and several if more are to: these take them when they come."""
    it = at(s.operators, operator)
    if it.batch_tasks > 0:
        return int(it.batch_tasks)
    if it.grouping == BY_KEY:
        return int(it.substreams)
    each = (2 * it.planned + it.servers) // (2 * it.servers)
    return int(it.servers * max(each, PARTS_PER_EXECUTOR if it.grouping == LOAD_AWARE else 1))


@jit
def _deal_tasks(s: EngineState, ready: float, operator: int, tasks: int) -> None:
    """Give even parts of the batch, one after the other, to the executor that is free first."""
    rows = at(s.operators, operator).batch_rows
    for task in range(tasks):
        count = rows * (task + 1) // tasks - rows * task // tasks
        if count > 0:
            executor = _next_task_to(s, ready, operator)
            begins = _free_s(s, ready, executor)
            for _ in range(count):
                _give_next(s, ready, operator, executor)
                at(s.tuples, at(s.operators, operator).batch_tail).begins = begins


@jit
def join_batch(s: EngineState, now: float, operator: int) -> None:
    """Deal out once more the tasks of the running batch that have not begun: other executors may serve by now."""
    it = at(s.operators, operator)
    if it.batch_rows == 0 or kind_of(it.batch_code) != BATCH_END or not _is_dealt_in_tasks(s, operator):
        return
    ready = max(now, it.batch_ready)
    first = it.batch_head
    while first != NONE and at(s.tuples, first).begins <= now:
        first = at(s.tuples, first).next
    if first == NONE:
        return
    i, before, began = first, NONE, 0.0
    while i != NONE:
        row = at(s.tuples, i)
        if row.executor != before or row.begins != began:
            before, began = row.executor, row.begins
            take_back_task(s, operator, before)
        take_back_row(s, i, operator)
        leave_task(s, row.executor)
        i = row.next
    i, before, began, executor, begins = first, NONE, 0.0, NONE, 0.0
    while i != NONE:
        row = at(s.tuples, i)
        if row.executor != before or row.begins != began:
            before, began = row.executor, row.begins
            executor = _next_task_to(s, ready, operator)
            begins = _free_s(s, ready, executor)
        _hand_on(s, ready, i, executor)
        row.begins = begins
        i = row.next
    cancel(s, it.batch_code)
    it.batch_code = push(s, _end(s, ready, operator), BATCH_END, operator)


@jit
def _hand_on(s: EngineState, ready: float, i: int, executor: int) -> None:
    """Make row `i` of a running batch, which was work of another executor, work of `executor`."""
    row = at(s.tuples, i)
    before, it = at(s.executors, row.executor), at(s.executors, executor)
    work = row.service_s * before.speed - receiving_s(s, row.sender, row.executor)
    time = (work + receiving_s(s, row.sender, executor)) / it.speed
    at(s.operators, row.operator).service_sum += time - row.service_s
    if row.executor != executor:
        before.handed_on += 1
        it.arrived += 1
        it.read_at = max(it.read_at, io.read_until(s, ready, i, executor))
    if it.rows == 0:
        cores.occupy(s, it.node)
    it.rows += 1
    row.executor = executor
    row.service_s = time
    it.work_s += time


@jit
def _next_task_to(s: EngineState, ready: float, operator: int) -> int:
    """The executor that takes the next task."""
    executor = _first_free(s, ready, operator)
    at(s.executors, executor).tasks += 1
    return executor


@jit
def _first_free(s: EngineState, ready: float, operator: int) -> int:
    """The executor that is done first with what it has; of several, the next in turn."""
    it = at(s.operators, operator)
    first, first_s = 0, math.inf
    for step in range(it.servers):
        position = (it.turn + step) % it.servers
        free_s = _free_s(s, ready, server(s, operator, position))
        if free_s < first_s:
            first, first_s = position, free_s
    it.turn = first + 1
    return server(s, operator, first)


@jit
def _free_s(s: EngineState, ready: float, executor: int) -> float:
    """When `executor` is done with what it has, and with what it was given of the batch. That its first task takes
    longer shows once it has begun."""
    it = at(s.executors, executor)
    own_s = it.work_s + it.extra_s if it.work_s > 0.0 else 0.0
    return float(max(ready, it.free_at, it.away_until) + own_s)


@jit
def _give_next(s: EngineState, ready: float, operator: int, executor: int) -> None:
    """Move the next waiting row into the batch, as work of `executor`; its node reads ahead from `ready` on."""
    operator_ = at(s.operators, operator)
    operator_.batch_tail = operator_.queue_head
    row = at(s.tuples, operator_.batch_tail)
    operator_.queue_head = row.next
    row.executor = executor
    it = at(s.executors, executor)
    work = draw.service_s(s, operator, row.value) + receiving_s(s, row.sender, row.executor)
    time = work / it.speed
    row.service_s = time
    note_service(s, operator, time)
    if it.rows == 0:
        cores.occupy(s, it.node)
    it.read_at = max(it.read_at, io.read_until(s, ready, operator_.batch_tail, executor))
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
def _overhead_s(s: EngineState, operator: int, tasks: int) -> float:
    """The fixed cost of the batch, before its work: c0 + c1·tasks."""
    it = at(s.operators, operator)
    fixed = (it.batch_fixed_s + it.batch_task_s * tasks) * s.world.batch_cost * draw.batch_factor(s, operator)
    it.batch_overhead_s += fixed
    it.batch_task_count += tasks
    it.batch_under_way_tasks = tasks
    return fixed


@jit
def _end(s: EngineState, ready: float, operator: int) -> float:
    """The end of a batch whose tasks start at `ready`: that of the longest share, all being worked on in parallel."""
    for position in range(at(s.operators, operator).servers):
        executor = server(s, operator, position)
        if at(s.executors, executor).work_s > 0.0:
            book(s, ready, operator, executor)
    return max(ready, last_end(s, operator))
