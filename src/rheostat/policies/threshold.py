"""Threshold: one executor more or less when utilisation leaves a band, a baseline of DABS-Storm (section 7).

Queues are not considered, as in the paper: under overload it adds one executor at each turn, and is late. The paper
does not give the thresholds.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from rheostat.decision import Decision
from rheostat.describe import executors, resize
from rheostat.errors import ConfigError
from rheostat.policies.observation import SETTLING, Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class ThresholdOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of the threshold policy."""

    high: Annotated[
        Share,
        msgspec.Meta(
            description="Utilisation, as a share from 0 to 1, above which a pool gets one more executor. Lower it "
            "to keep more in reserve for sudden load."
        ),
    ] = 0.8
    low: Annotated[
        Share,
        msgspec.Meta(
            description="Utilisation, as a share from 0 to 1, below which a pool loses one executor. Lower it if "
            "executors are removed and soon needed again."
        ),
    ] = 0.4

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ConfigError(f"low {self.low!r} must be below high {self.high!r}")


class Threshold(Policy[ThresholdOptions]):
    """Adds or removes one executor of a pool whose utilisation leaves [low, high]."""

    summary = "one executor more or less when utilisation leaves a band (the incremental strategy of DABS-Storm)"

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        measured = observation.measures.operators
        return observation.decide_each(
            lambda pool, spare: self._judge(pool, measured[pool.operators[0]].utilisation, spare)
        )

    def _judge(self, pool: PoolView, utilisation: float | None, spare: float) -> Decision:
        if pool.settling:
            return pool.hold(SETTLING)
        if utilisation is None:
            return pool.hold("the utilisation was not measured: hold")
        if utilisation > self.options.high:
            return self._more(pool, utilisation, spare)
        if utilisation < self.options.low:
            return self._fewer(pool, utilisation)
        reason = f"utilisation {utilisation:.0%} is within [{self.options.low:.0%}, {self.options.high:.0%}]: hold"
        return pool.hold(reason, utilisation=utilisation)

    def _more(self, pool: PoolView, utilisation: float, spare: float) -> Decision:
        over = f"utilisation {utilisation:.0%} > {self.options.high:.0%}"
        if pool.size >= pool.bounds.most:
            return pool.hold(f"{over}, but at most {executors(pool.bounds.most)} are allowed: hold")
        if spare < 1:
            return pool.hold(f"{over}, but budget and cluster have no room for more: hold")
        return _scale(pool, pool.size + 1, utilisation, over)

    def _fewer(self, pool: PoolView, utilisation: float) -> Decision:
        under = f"utilisation {utilisation:.0%} < {self.options.low:.0%}"
        if pool.size <= pool.bounds.least:
            return pool.hold(f"{under}, but at least {executors(pool.bounds.least)} are needed: hold")
        left = utilisation * pool.size / (pool.size - 1)
        if left > self.options.high:
            return pool.hold(f"{under}, but one executor fewer would bring {left:.0%} > {self.options.high:.0%}: hold")
        return _scale(pool, pool.size - 1, utilisation, under)


def _scale(pool: PoolView, wanted: int, utilisation: float, why: str) -> Decision:
    expected = utilisation * pool.size / wanted
    reason = f"{why}: {resize(pool.size, wanted)}, expected utilisation {expected:.0%}"
    return pool.scale(wanted, reason, utilisation=expected)
