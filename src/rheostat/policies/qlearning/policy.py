"""DABS-Storm's third baseline (§7.2, "Rlearning"): look up the degree that was learned for the present input rate."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from rheostat.decision import Decision
from rheostat.describe import executors
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.qlearning.table import read_table
from rheostat.sla import Goal

Told = msgspec.Meta


class QLearningOptions(PolicyOptions, frozen=True, kw_only=True):
    """What the policy can be told."""

    table: Annotated[
        str | dict[str, Any],
        Told(description="what was learned, by operator: a JSON file, as `qlearning.train` and `write_table` make it"),
    ]
    smoothing: Annotated[
        str, Told(description='over what the input rate is averaged: "none", "alpha:0.8" or "window:6"')
    ] = "window:3"


class QLearning(Policy[QLearningOptions]):
    """Gives each operator the executors that paid best at its input rate; queues are not looked at."""

    summary = "the degree that reinforcement learning found for the input rate (baseline of DABS-Storm)"

    def __init__(self, goal: Goal, options: QLearningOptions) -> None:
        super().__init__(goal, options)
        self._table = read_table(options.table)
        goal.topology.operators.check(self._table)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        return [self._judge(pool, observation) for pool in observation.pools.values()]

    def _judge(self, pool: PoolView, observation: Observation) -> Decision:
        learned = [name for name in pool.operators if name in self._table]
        if pool.settling:
            return pool.hold("a change is still under way")
        if not learned:
            return pool.hold("nothing was learned about it")
        rates = {name: observation.measures.operators[name].arrival_rate for name in learned}
        if unknown := [name for name, rate in rates.items() if rate is None]:
            return pool.hold(f"the input rate of {unknown[0]!r} could not be measured")
        wanted = sum(self._table[name].degree(rate) for name, rate in rates.items() if rate is not None)
        allowed = pool.bounds.clamp(wanted)
        rate = sum(rate for rate in rates.values() if rate is not None)
        return pool.scale(allowed, f"{executors(allowed)} paid best at {rate:,.4g} records/s")
