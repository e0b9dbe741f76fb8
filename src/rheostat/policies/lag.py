"""Lag: executors in proportion to the backlog, as KEDA's Kafka scaler and Kubernetes' autoscaler size consumers.

The rule: backlog over `lag_threshold`, rounded up, decided every `interval`. Within `tolerance` of the present size
nothing changes. A pool grows at once, by 4 or to twice its size per interval at most; it shrinks to the largest size
that was wanted in the last `stabilisation` seconds. A pool whose backlog is not above `activation` counts as idle and
falls to its least size after `cooldown`. A keyed operator never gets more than it has substreams, as a consumer group
never gets more than a topic has partitions. The backlog of an operator includes the records that it is working on.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Annotated

import msgspec

from rheostat.decision import Decision
from rheostat.describe import resize
from rheostat.duration import Duration, human, positive_seconds, seconds
from rheostat.measure.unknown import total
from rheostat.names import PoolName
from rheostat.policies.interval_timer import IntervalTimer
from rheostat.policies.observation import SETTLING, Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Goal

_STEP = 4
"""A pool grows by so many in an interval, or to twice its size, whichever is more."""

_ROUNDING = 1e-9


class LagOptions(PolicyOptions, frozen=True, kw_only=True):
    """Options of the lag policy; the defaults are those of KEDA and of the horizontal pod autoscaler."""

    lag_threshold: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            description="Backlog in records for which a pool has one executor. Set it to what one executor completes "
            "in the latency that you want.",
        ),
    ] = 10.0
    activation: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            description="Backlog in records up to which a pool counts as idle. Raise it if a few records keep "
            "executors running.",
        ),
    ] = 0.0
    tolerance: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            lt=1,
            description="Share by which the wanted number of executors may differ from the present one without a "
            "change. Raise it for fewer actions.",
        ),
    ] = 0.1
    stabilisation: Annotated[
        Duration,
        msgspec.Meta(
            description="Time for which a lower number must have been wanted before executors are removed, as a "
            "duration. Shorten it to save executors earlier."
        ),
    ] = "5m"
    cooldown: Annotated[
        Duration,
        msgspec.Meta(
            description="Time for which a pool must have been idle before it falls to its least size, as a duration. "
            "Shorten it if load comes rarely."
        ),
    ] = "5m"
    interval: Annotated[
        Duration,
        msgspec.Meta(
            description="Time between two decisions, as a duration. Shorten it to follow the load faster; every turn "
            "of the loop is the shortest."
        ),
    ] = "15s"


class Lag(Policy[LagOptions]):
    """Sizes each pool by its backlog."""

    summary = "one executor for so many records of backlog (KEDA and the Kubernetes autoscaler)"

    def __init__(self, goal: Goal, options: LagOptions | None = None) -> None:
        super().__init__(goal, options)
        self._interval_s = positive_seconds(self.options.interval, "interval")
        self._stabilisation_s = seconds(self.options.stabilisation, "stabilisation")
        self._cooldown_s = seconds(self.options.cooldown, "cooldown")
        self._timer = IntervalTimer(self._interval_s)
        self._wanted: dict[PoolName, deque[tuple[float, int]]] = {}
        self._active_s: dict[PoolName, float] = {}

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        time_s = observation.snapshot.time_s
        is_due = self._timer.due(time_s)
        backlogs = {name: _backlog(observation, pool) for name, pool in observation.pools.items()}
        for name, backlog in backlogs.items():
            if backlog is None or backlog > self.options.activation:
                self._active_s[name] = time_s
        if not is_due:
            return observation.hold_all(f"decides every {human(self._interval_s)}: hold")
        wanted = {
            name: self._want(pool, backlog, time_s)
            for name, pool in observation.pools.items()
            if (backlog := backlogs[name]) is not None
        }
        sizes = within_budget(observation, {n: w for n, w in wanted.items() if not observation.pools[n].settling})
        return [
            self._decision(pool, backlogs[name], wanted.get(name, 0), sizes) for name, pool in observation.pools.items()
        ]

    def _want(self, pool: PoolView, backlog: float, time_s: float) -> int:
        """The size that the rule gives for this interval, after growth limit and stabilisation."""
        if backlog <= self.options.activation and time_s - self._active_s.get(pool.name, time_s) >= self._cooldown_s:
            return pool.bounds.least
        desired = min(pool.useful, max(pool.bounds.least, self._desired(pool, backlog)))
        recent = self._wanted.setdefault(pool.name, deque([(time_s, pool.size)]))
        recent.append((time_s, desired))
        while recent and not time_s - self._stabilisation_s <= recent[0][0] <= time_s:
            recent.popleft()
        if desired >= pool.size:
            return min(desired, max(2 * pool.size, pool.size + _STEP))
        return min(pool.size, max((number for _, number in recent), default=desired))

    def _desired(self, pool: PoolView, backlog: float) -> int:
        number = backlog / self.options.lag_threshold
        if abs(number / pool.size - 1) <= self.options.tolerance + _ROUNDING:
            return pool.size
        return math.ceil(min(number, pool.bounds.most) - _ROUNDING)

    def _decision(self, pool: PoolView, backlog: float | None, wanted: int, sizes: dict[PoolName, int]) -> Decision:
        if pool.settling:
            return pool.hold(SETTLING)
        if backlog is None:
            return pool.hold("the backlog was not measured: hold")
        number, size = backlog / self.options.lag_threshold, sizes[pool.name]
        measured = f"backlog {backlog:,.0f} records, {self.options.lag_threshold:g} for each executor"
        limit = f", {wanted} after the limits of growth and stabilisation" if wanted != math.ceil(number) else ""
        return pool.scale(size, f"{measured}: {number:.3g} wanted{limit}, {resize(pool.size, size)}")


def _backlog(observation: Observation, pool: PoolView) -> float | None:
    """Records of all operators that the pool serves; None where one was not measured."""
    return total([observation.measures.operators[operator].queued for operator in pool.measured])
