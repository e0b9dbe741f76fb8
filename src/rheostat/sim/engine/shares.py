"""An executor's share of a batch: booked when the batch begins, and taken back as far as it was not done."""

from typing import Any

from rheostat.sim.engine import cores
from rheostat.sim.engine.jit import at, jit
from rheostat.sim.engine.state import State


@jit
def book(s: State, ready: float, operator: int, executor: int) -> None:
    """`executor` does its share when it can; one that several operators share does one share after the other."""
    it = at(s.executors, executor)
    work = it.work_s * cores.crowding(s, it.node)
    begin = max(ready, it.free_at, it.away_until)
    share = _share(s, operator, executor)
    share.end = begin + work + it.extra_s
    share.work_s = work
    it.free_at = share.end
    it.busy_s += work
    at(s.operators, operator).service_sum += work - it.work_s
    it.work_s = 0.0
    it.extra_s = 0.0


@jit
def take_back(s: State, now: float, operator: int, executor: int) -> None:
    """`executor` does no more of its share: what is not done yet was never booked. Shares for others stay."""
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
def _share(s: State, operator: int, executor: int) -> Any:
    """What `executor` has to do in the latest batch of `operator` that it had rows of."""
    return at(s.shares, operator * s.world.width + executor)
