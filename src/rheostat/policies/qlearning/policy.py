"""DABS-Storm's third baseline (§7.2, "Rlearning"): look up the degree that was learned for the present input rate."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from rheostat.decision import Decision, Effect, Hold, Scale
from rheostat.describe import executors
from rheostat.policies.policy import Observation, Policy, PolicyOptions
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
        for name in self._table:
            goal.topology.operator(name)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool, in the name of the first operator it serves."""
        pools = (observation.plan.sharing(pool) for pool in observation.plan.pools)
        return [self._judge(observation, operators) for operators in pools if operators]

    def _judge(self, observation: Observation, operators: Sequence[str]) -> Decision:
        operator, size = operators[0], observation.plan.size(operators[0])
        learned = [name for name in operators if name in self._table]
        if observation.settling.intersection(operators):
            return Hold(operator=operator, reason="a change is still under way")
        if not learned:
            return Hold(operator=operator, reason="nothing was learned about it")
        rates = {name: observation.measures.operators[name].arrival_rate for name in learned}
        if unknown := [name for name, rate in rates.items() if rate is None]:
            return Hold(operator=operator, reason=f"the input rate of {unknown[0]!r} could not be measured")
        wanted = sum(self._table[name].degree(rate) for name, rate in rates.items() if rate is not None)
        return self._change(operators, size, wanted, sum(rate for rate in rates.values() if rate is not None))

    def _change(self, operators: Sequence[str], size: int, wanted: int, rate: float) -> Decision:
        budget = self.goal.budget
        least = max(budget.minimum(each) for each in operators)
        allowed = int(max(least, min(wanted, *(budget.maximum(each) for each in operators))))
        reason = f"{executors(allowed)} paid best at {rate:,.4g} records/s"
        if allowed == size:
            return Hold(operator=operators[0], reason=reason, predicted=Effect(executors=size))
        return Scale(operator=operators[0], executors=allowed, reason=reason, predicted=Effect(executors=allowed))
