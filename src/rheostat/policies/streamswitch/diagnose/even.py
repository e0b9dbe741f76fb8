"""Diagnosis of operators whose executors have equal shares: stateless ones, and operators that share a pool.

There are no substreams to move, so there is no rebalancing: every executor has the same share of the arrivals,
whatever its speed. At a scale-in the slowest executor leaves.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from rheostat.policies.streamswitch.diagnose.keyed import ActionKind, Diagnosis, SizeLimits
from rheostat.policies.streamswitch.model.executor import ExecutorModel, Health, Thresholds

BatchCost = Callable[[int], float | None]
"""What a batch costs beside its work on so many executors; None where records are served one by one."""


def diagnose_evenly(
    executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits, batch_cost_s: BatchCost
) -> Diagnosis:
    """As `diagnose`, with one executor more or fewer as the only actions."""
    health = limits.overall(executors)
    if health is Health.GOOD:
        return _scale_in(executors, limits, allowed, batch_cost_s)
    if health is Health.SEVERE:
        return _scale_out(executors, allowed, batch_cost_s)
    return Diagnosis(health, tuple(executors))


def _scale_in(
    executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits, batch_cost_s: BatchCost
) -> Diagnosis:
    before = tuple(executors)
    if len(before) < 2 or not allowed.fewer:
        return Diagnosis(Health.GOOD, before, note="fewer executors are not allowed")
    slowest = min(before, key=lambda each: each.capacity.service_rate)
    after = _with_equal_shares([each for each in before if each is not slowest], _load(before), batch_cost_s)
    if limits.overall(after) is not Health.GOOD:
        return Diagnosis(Health.GOOD, before, note="with one executor fewer they would not stay good")
    return Diagnosis(Health.GOOD, after, ActionKind.SCALE_IN)


def _scale_out(executors: Sequence[ExecutorModel], allowed: SizeLimits, batch_cost_s: BatchCost) -> Diagnosis:
    before = tuple(executors)
    worst = max(before, key=lambda each: each.stress)
    after = _with_equal_shares([*before, replace(worst, id=allowed.new, latency_s=0.0)], _load(before), batch_cost_s)
    if max(each.stress for each in after) >= worst.stress:
        return Diagnosis(Health.SEVERE, before, note="one more executor would not help")
    if not allowed.more:
        return Diagnosis(Health.SEVERE, before, note="one more executor is not allowed")
    return Diagnosis(Health.SEVERE, after, ActionKind.SCALE_OUT)


def _load(executors: Sequence[ExecutorModel]) -> float:
    return sum(each.arrival_rate for each in executors)


def _with_equal_shares(
    executors: Sequence[ExecutorModel], load: float, batch_cost_s: BatchCost
) -> tuple[ExecutorModel, ...]:
    share, cost_s = load / len(executors), batch_cost_s(len(executors))
    return tuple(
        replace(each, arrival_rate=share, capacity=replace(each.capacity, batch_cost_s=cost_s)) for each in executors
    )
