"""Batch shares: an executor's work in a batch, booked when the batch begins and taken back if it is not done."""

import math
from typing import Any

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import cores
from rheostat.sim.engine.tables.state import EngineState


@jit
def book(s: EngineState, ready: float, operator: int, executor: int) -> None:
    """Book the share of `executor` for its next free time; it does the shares of several operators one by one."""
    it = at(s.executors, executor)
    crowding = cores.crowding(s, it.node)
    work = it.work_s * crowding
    begin = max(ready, it.free_at, it.away_until)
    share = _share(s, operator, executor)
    has_begun = share.end > at(s.operators, operator).batch_started
    share.work_s = work + (share.work_s if has_begun else 0.0)
    share.tasks = it.tasks + (share.tasks if has_begun else 0)
    share.end = max(begin + work + it.extra_s, it.read_at)
    share.crowding = crowding
    it.free_at = share.end
    it.busy_s += work
    at(s.operators, operator).service_sum += work - it.work_s
    it.work_s = 0.0
    it.extra_s = 0.0
    it.tasks = 0


@jit
def take_back(s: EngineState, now: float, operator: int, executor: int) -> None:
    """Take back the part of its share that `executor` has not done. Its shares of other operators' batches stay."""
    share, it = _share(s, operator, executor), at(s.executors, executor)
    if share.end <= now:
        return
    undone = min(share.end - now, share.work_s)
    it.busy_s -= undone
    at(s.operators, operator).service_sum -= undone
    share.end = now
    _free_after_shares(s, operator, executor)


@jit
def take_back_row(s: EngineState, i: int, operator: int) -> None:
    """Take row `i`, which its executor has not begun, from that executor's share."""
    row = at(s.tuples, i)
    share, it = _share(s, operator, row.executor), at(s.executors, row.executor)
    work = row.service_s * share.crowding
    it.busy_s -= work
    at(s.operators, operator).service_sum -= work - row.service_s
    share.work_s -= work
    share.end -= work
    _free_after_shares(s, operator, row.executor)


@jit
def take_back_task(s: EngineState, operator: int, executor: int) -> None:
    """Count one task less; its rows are taken back one by one."""
    _share(s, operator, executor).tasks -= 1


@jit
def _free_after_shares(s: EngineState, operator: int, executor: int) -> None:
    it = at(s.executors, executor)
    it.free_at = _share(s, operator, executor).end
    for other in range(s.world.operators):
        it.free_at = max(it.free_at, _share(s, other, executor).end)


@jit
def last_end(s: EngineState, operator: int) -> float:
    """When the last share of the latest batch of `operator` ends, and before it began if there is none."""
    last = -math.inf
    for executor in range(s.world.width):
        last = max(last, _share(s, operator, executor).end)
    return last


@jit
def _share(s: EngineState, operator: int, executor: int) -> Any:
    """The share of `executor` in the latest batch of `operator` in which it had rows."""
    return at(s.shares, operator * s.world.width + executor)
