"""Batch shares: an executor's work in a batch, booked when the batch begins and taken back if it is not done."""

from typing import Any

from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.service import cores
from rheostat.sim.engine.tables.state import EngineState


@jit
def book(s: EngineState, ready: float, operator: int, executor: int) -> None:
    """Book the share of `executor` for its next free time; it does the shares of several operators one by one."""
    it = at(s.executors, executor)
    work = it.work_s * cores.crowding(s, it.node)
    begin = max(ready, it.free_at, it.away_until)
    share = _share(s, operator, executor)
    share.end = max(begin + work + it.extra_s, it.read_at)
    share.work_s = work
    it.free_at = share.end
    it.busy_s += work
    at(s.operators, operator).service_sum += work - it.work_s
    it.work_s = 0.0
    it.extra_s = 0.0


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
    it.free_at = now
    for other in range(s.world.operators):
        it.free_at = max(it.free_at, _share(s, other, executor).end)


@jit
def _share(s: EngineState, operator: int, executor: int) -> Any:
    """The share of `executor` in the latest batch of `operator` in which it had rows."""
    return at(s.shares, operator * s.world.width + executor)
