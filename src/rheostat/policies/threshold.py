"""The incremental strategy that DABS-Storm compares itself with (section 7): one executor more or less at a time,
by thresholds on processor use alone.

Queues are not looked at, as there: under overload it goes on adding one executor at each turn, and comes late.
The paper does not give the thresholds; the defaults here leave a scale-in room to stay below the upper one.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from rheostat.decision import Decision, Effect, Hold, Scale
from rheostat.describe import executors
from rheostat.errors import ConfigError
from rheostat.policies.policy import Observation, Policy, PolicyOptions

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class ThresholdOptions(PolicyOptions, frozen=True, kw_only=True):
    """What the threshold policy can be told."""

    high: Annotated[Share, msgspec.Meta(description="utilisation above which one executor is added")] = 0.8
    low: Annotated[Share, msgspec.Meta(description="utilisation below which one executor is removed")] = 0.4

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ConfigError(f"low {self.low!r} must be below high {self.high!r}")


class Threshold(Policy[ThresholdOptions]):
    """Adds or removes one executor of an operator whose utilisation leaves [low, high]."""

    summary = "one executor more or less when utilisation leaves a band (the incremental strategy of DABS-Storm)"

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool, in the name of the first operator it serves."""
        spare = self._spare(observation)
        decisions: list[Decision] = []
        for pool in observation.plan.pools:
            operators = observation.plan.sharing(pool)
            if not operators:
                continue
            decision = self._judge(observation, operators, spare)
            if isinstance(decision, Scale):
                spare -= decision.executors - observation.plan.size(operators[0])
            decisions.append(decision)
        return decisions

    def _spare(self, observation: Observation) -> float:
        total = self.goal.budget.total
        return float("inf") if total is None else total - observation.plan.total

    def _judge(self, observation: Observation, operators: Sequence[str], spare: float) -> Decision:
        operator, size = operators[0], observation.plan.size(operators[0])
        utilisation = observation.measures.operators[operator].utilisation
        if observation.settling.intersection(operators):
            return Hold(operator=operator, reason="a change is still under way")
        if utilisation is None:
            return Hold(operator=operator, reason="the utilisation could not be measured")
        if utilisation > self.options.high:
            return self._more(operators, size, utilisation, spare)
        if utilisation < self.options.low:
            return self._fewer(operators, size, utilisation)
        reason = f"utilisation {utilisation:.0%} is between {self.options.low:.0%} and {self.options.high:.0%}"
        return Hold(operator=operator, reason=reason, predicted=Effect(utilisation=utilisation, executors=size))

    def _more(self, operators: Sequence[str], size: int, utilisation: float, spare: float) -> Decision:
        operator = operators[0]
        over = f"utilisation {utilisation:.0%} is above {self.options.high:.0%}"
        most = min(self.goal.budget.maximum(each) for each in operators)
        if size >= most:
            return Hold(operator=operator, reason=f"{over}, but {executors(most)} is the most allowed")
        if spare < 1:
            return Hold(operator=operator, reason=f"{over}, but the budget of {self.goal.budget.total} is spent")
        return _scale(operator, size, size + 1, utilisation, over)

    def _fewer(self, operators: Sequence[str], size: int, utilisation: float) -> Decision:
        operator = operators[0]
        under = f"utilisation {utilisation:.0%} is below {self.options.low:.0%}"
        least = max(self.goal.budget.minimum(each) for each in operators)
        if size <= least:
            return Hold(operator=operator, reason=f"{under}, but {executors(least)} is the least allowed")
        left = utilisation * size / (size - 1)
        if left > self.options.high:
            reason = f"{under}, but one executor fewer would bring {left:.0%}, above {self.options.high:.0%}"
            return Hold(operator=operator, reason=reason)
        return _scale(operator, size, size - 1, utilisation, under)


def _scale(operator: str, size: int, wanted: int, utilisation: float, why: str) -> Scale:
    expected = utilisation * size / wanted
    reason = f"{why}: {executors(wanted)} instead of {size} would bring {expected:.0%}"
    predicted = Effect(utilisation=expected, executors=wanted)
    return Scale(operator=operator, executors=wanted, reason=reason, predicted=predicted)
