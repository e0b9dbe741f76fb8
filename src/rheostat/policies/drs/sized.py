"""Sized: substreams follow sizes that another policy decides, by the strategies of StreamSwitch."""

from collections.abc import Sequence

from rheostat.names import PoolName
from rheostat.policies.streamswitch.diagnose.keyed import ActionKind, Diagnosis, SizeLimits, diagnose
from rheostat.policies.streamswitch.model.executor import ExecutorModel, Thresholds
from rheostat.policies.streamswitch.strategies.balance import scale_out
from rheostat.policies.streamswitch.strategies.scale_in import scale_in
from rheostat.policies.streamswitch.strategies.strategy import Strategy


class Sized:
    """Diagnoses by `wanted`, the sizes of pools by name: one executor more or fewer at a time, whatever their health. A
    pool of the right size is rebalanced, if `balances`."""

    def __init__(self, *, balances: bool) -> None:
        self.wanted: dict[PoolName, int] = {}
        self._balances = balances

    def __call__(
        self, pool: PoolName, executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits
    ) -> Diagnosis:
        wanted = self.wanted.get(pool, len(executors))
        if wanted > len(executors):
            busiest = max(executors, key=lambda each: each.stress)
            return _diagnosis(ActionKind.SCALE_OUT, scale_out(busiest, allowed.new), executors, limits)
        if wanted < len(executors):
            return _diagnosis(ActionKind.SCALE_IN, scale_in(executors), executors, limits)
        if self._balances:
            return diagnose(executors, limits, SizeLimits(allowed.new, more=False, fewer=False))
        return Diagnosis(limits.overall(executors), tuple(executors))


def _diagnosis(
    action: ActionKind, strategy: Strategy | None, executors: Sequence[ExecutorModel], limits: Thresholds
) -> Diagnosis:
    health = limits.overall(executors)
    if strategy is None:
        return Diagnosis(health, tuple(executors), note=f"no move of substreams makes it worth to {action}")
    return Diagnosis(health, tuple(strategy.applied(executors)), action, strategy)
