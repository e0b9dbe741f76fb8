"""DRS-LB, a baseline of StreamSwitch (section 6): DRS sizes pools, StreamSwitch moves substreams between executors."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from rheostat.decision import Decision, Hold, Move, Scale
from rheostat.names import PoolName
from rheostat.policies.drs.options import DrsLbOptions
from rheostat.policies.drs.policy import Drs
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.streamswitch.diagnose.keyed import ActionKind, Diagnosis, SizeLimits, diagnose
from rheostat.policies.streamswitch.model.executor import ExecutorModel, Thresholds
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.policy import StreamSwitch
from rheostat.policies.streamswitch.strategies.balance import scale_out
from rheostat.policies.streamswitch.strategies.scale_in import scale_in
from rheostat.policies.streamswitch.strategies.strategy import Strategy
from rheostat.sla import Goal


class FollowSizes:
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
            return diagnose(executors, limits, replace(allowed, more=False, fewer=False))
        return Diagnosis(limits.overall(executors), tuple(executors))


def _diagnosis(
    action: ActionKind, strategy: Strategy | None, executors: Sequence[ExecutorModel], limits: Thresholds
) -> Diagnosis:
    health = limits.overall(executors)
    if strategy is None:
        return Diagnosis(health, tuple(executors), note=f"no move of substreams makes it worth to {action}")
    return Diagnosis(health, tuple(strategy.applied(executors)), action, strategy)


class DrsLb(Policy[DrsLbOptions]):
    """DRS decides how many executors there are, StreamSwitch which substreams they serve."""

    summary = "as drs, and moves substreams between executors while their number stays (DRS-LB)"

    def __init__(self, goal: Goal, options: DrsLbOptions | None = None) -> None:
        super().__init__(goal, options)
        self._drs = Drs(goal, self.options)
        self._sizes = FollowSizes(balances=self.options.balance)
        self._switch = StreamSwitch(goal, _of_streamswitch(self.options), self._sizes)
        self._keyed = {name for name, operator in goal.topology.operators.items() if operator.keyed}

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """DRS's decisions with the transfers that belong to them; where all hold, rebalancing instead."""
        scaling = self._drs.decide(observation)
        self._sizes.wanted = self._switched_to(scaling)
        switching = dict(zip(observation.pools, self._switch.decide(observation), strict=True))
        holds = all(isinstance(decision, Hold) for decision in scaling)
        return [
            self._joined(pool, decision, switching[pool.name], holds)
            for pool, decision in zip(observation.pools.values(), scaling, strict=True)
        ]

    def _switched_to(self, scaling: Sequence[Decision]) -> dict[PoolName, int]:
        if self.options.substreams == "spread":
            return {}
        return {each.pool: each.executors for each in scaling if isinstance(each, Scale)}

    def _joined(self, pool: PoolView, scaling: Decision, switching: Decision, holds: bool) -> Decision:
        if holds:
            return switching if isinstance(switching, Move) else scaling
        if pool.name in self._sizes.wanted and self._keyed.issuperset(pool.operators) and len(pool.operators) == 1:
            return _for_both(scaling.reason, switching)
        return scaling


def _for_both(reason: str, switching: Decision) -> Decision:
    return msgspec.structs.replace(switching, reason=f"{reason}; {switching.reason}")


def _of_streamswitch(options: DrsLbOptions) -> StreamSwitchOptions:
    return StreamSwitchOptions(epsilon=options.margin, l=options.l, L=options.L, T=options.T, delta=options.delta)
