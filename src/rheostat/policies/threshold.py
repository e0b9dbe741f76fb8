"""The incremental strategy that DABS-Storm compares itself with (section 7): one executor more or less at a time,
by thresholds on processor use alone.

Queues are not looked at, as there: under overload it goes on adding one executor at each turn, and comes late.
The paper does not give the thresholds; the defaults here leave a scale-in room to stay below the upper one.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from rheostat.decision import Decision, Scale
from rheostat.describe import executors
from rheostat.errors import ConfigError
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions

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
        """One decision for each pool."""
        spare = observation.spare
        decisions: list[Decision] = []
        for pool in observation.pools.values():
            decision = self._judge(pool, observation.measures.operators[pool.operators[0]].utilisation, spare)
            spare -= decision.executors - pool.size if isinstance(decision, Scale) else 0
            decisions.append(decision)
        return decisions

    def _judge(self, pool: PoolView, utilisation: float | None, spare: float) -> Decision:
        if pool.settling:
            return pool.hold("a change is still under way")
        if utilisation is None:
            return pool.hold("the utilisation could not be measured")
        if utilisation > self.options.high:
            return self._more(pool, utilisation, spare)
        if utilisation < self.options.low:
            return self._fewer(pool, utilisation)
        reason = f"utilisation {utilisation:.0%} is between {self.options.low:.0%} and {self.options.high:.0%}"
        return pool.hold(reason, utilisation=utilisation)

    def _more(self, pool: PoolView, utilisation: float, spare: float) -> Decision:
        over = f"utilisation {utilisation:.0%} is above {self.options.high:.0%}"
        if pool.size >= pool.bounds.most:
            return pool.hold(f"{over}, but {executors(pool.bounds.most)} is the most allowed")
        if spare < 1:
            return pool.hold(f"{over}, but the budget of {self.goal.budget.total} is spent")
        return _scale(pool, pool.size + 1, utilisation, over)

    def _fewer(self, pool: PoolView, utilisation: float) -> Decision:
        under = f"utilisation {utilisation:.0%} is below {self.options.low:.0%}"
        if pool.size <= pool.bounds.least:
            return pool.hold(f"{under}, but {executors(pool.bounds.least)} is the least allowed")
        left = utilisation * pool.size / (pool.size - 1)
        if left > self.options.high:
            return pool.hold(f"{under}, but one executor fewer would bring {left:.0%}, above {self.options.high:.0%}")
        return _scale(pool, pool.size - 1, utilisation, under)


def _scale(pool: PoolView, wanted: int, utilisation: float, why: str) -> Decision:
    expected = utilisation * pool.size / wanted
    reason = f"{why}: {executors(wanted)} instead of {pool.size} would bring {expected:.0%}"
    return pool.scale(wanted, reason, utilisation=expected)
