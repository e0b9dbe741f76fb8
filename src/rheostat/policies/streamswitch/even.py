"""Operators whose load divides evenly: stateless ones, and operators that share a pool.

There are no substreams to move, so there is no load balance: every executor has the same share of the arrivals,
whatever its speed, and the plan spreads what there is to spread. A scale-out gives everybody less; at a scale-in the
one leaves without which the rest fares best, which is the slowest.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from rheostat.policies.streamswitch.diagnose import Diagnosis, Room, Treatment
from rheostat.policies.streamswitch.executor import Executor
from rheostat.policies.streamswitch.health import Health, Thresholds

BatchCost = Callable[[int], float | None]
"""What a batch costs beside its work with so many executors; None where records are served one by one."""


def diagnose_evenly(
    executors: Sequence[Executor], limits: Thresholds, room: Room, batch_cost_s: BatchCost
) -> Diagnosis:
    """As `diagnose`, with one executor more or fewer as the only treatments."""
    health = limits.overall(executors)
    if health is Health.GOOD:
        return _save(executors, limits, room, batch_cost_s)
    if health is Health.SEVERE:
        return _relieve(executors, room, batch_cost_s)
    return Diagnosis(health, tuple(executors))


def _save(executors: Sequence[Executor], limits: Thresholds, room: Room, batch_cost_s: BatchCost) -> Diagnosis:
    before = tuple(executors)
    if len(before) < 2 or not room.fewer:
        return Diagnosis(Health.GOOD, before, note="no fewer are allowed")
    slowest = min(before, key=lambda each: each.capacity.service_rate)
    after = _shared([each for each in before if each is not slowest], _load(before), batch_cost_s)
    if limits.overall(after) is not Health.GOOD:
        return Diagnosis(Health.GOOD, before, note="none can be spared")
    return Diagnosis(Health.GOOD, after, Treatment.SCALE_IN)


def _relieve(executors: Sequence[Executor], room: Room, batch_cost_s: BatchCost) -> Diagnosis:
    before = tuple(executors)
    worst = max(before, key=lambda each: each.stress)
    after = _shared([*before, replace(worst, id=room.new, latency_s=0.0)], _load(before), batch_cost_s)
    if max(each.stress for each in after) >= worst.stress:
        return Diagnosis(Health.SEVERE, before, note="a further executor would not help")
    if not room.more:
        return Diagnosis(Health.SEVERE, before, note="a further executor is not allowed")
    return Diagnosis(Health.SEVERE, after, Treatment.SCALE_OUT)


def _load(executors: Sequence[Executor]) -> float:
    return sum(each.arrival_rate for each in executors)


def _shared(executors: Sequence[Executor], load: float, batch_cost_s: BatchCost) -> tuple[Executor, ...]:
    share, cost_s = load / len(executors), batch_cost_s(len(executors))
    return tuple(
        replace(each, arrival_rate=share, capacity=replace(each.capacity, batch_cost_s=cost_s)) for each in executors
    )
