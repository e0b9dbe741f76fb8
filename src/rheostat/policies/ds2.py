"""DS2 (Kalavri et al., OSDI 2018): the executors that the source rates need at each operator, from true rates.

The true processing rate of an operator is what one executor completes in a second of useful work; its output follows
from the records that it writes for a record it reads. The rates of the sources, carried through the topology, divided
by the true rates give all operators' executors in one step.

As in its published implementation the decision is made every `interval`, after `activation` intervals with the same
size, and never within `warm_up` intervals of an action; one executor fewer is not worth an action. Where the sizes are
enough by the model and still less is read than arrives, all operators get more by that ratio (`target_rate_ratio`).
Backlogs are not considered.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from rheostat.decision import Decision
from rheostat.describe import resize
from rheostat.duration import Duration, human, positive_seconds
from rheostat.names import OperatorName, PoolName
from rheostat.policies.interval_timer import IntervalTimer
from rheostat.policies.measures_window import MeasuresWindow
from rheostat.policies.observation import SETTLING, NotMeasuredError, Observation, PoolView
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.routes import Routes
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Goal

_ROUNDING = 1e-9

Intervals = Annotated[int, msgspec.Meta(ge=0)]


class Ds2Options(PolicyOptions, frozen=True, kw_only=True):
    """Options of DS2; the defaults are those of its implementation."""

    interval: Annotated[
        Duration,
        msgspec.Meta(
            description="Time over which rates are measured, and between two decisions, as a duration. Shorten it to "
            "follow the load faster, lengthen it if the rates are unsteady, for example because batches are long."
        ),
    ] = "10s"
    activation: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            description="Number of intervals since the last action after which the next one is allowed, those of the "
            "warm-up not counted. Raise it if executors are added for short peaks.",
        ),
    ] = 1
    warm_up: Annotated[
        Intervals,
        msgspec.Meta(
            description="Number of intervals after an action that are not looked at, because executors are still cold. "
            "Raise it if executors take longer to get up to speed."
        ),
    ] = 2
    target_rate_ratio: Annotated[
        Annotated[float, msgspec.Meta(ge=1)] | None,
        msgspec.Meta(
            description="Records that arrive over records that are read, above which all operators get more executors "
            "by that ratio although their rates say that they have enough. Left out, that is never done. Set it to "
            "1.05 or so if the backlog stays.",
        ),
    ] = None
    scaling_factor: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            description="Executors on top of those needed, as a share of them: 0.2 is 20 % more. Raise it to have a "
            "reserve for rising load and for backlogs.",
        ),
    ] = 0.0


class Ds2(Policy[Ds2Options]):
    """Gives each operator the executors that the rate at the sources needs."""

    summary = "as many executors as the source rates need at the measured true rates (DS2)"

    def __init__(self, goal: Goal, options: Ds2Options | None = None) -> None:
        super().__init__(goal, options)
        self._interval_s = positive_seconds(self.options.interval, "interval")
        self._timer = IntervalTimer(self._interval_s)
        self._window = MeasuresWindow(self._interval_s)
        self._routes = Routes(goal.topology)
        self._intervals = 0
        """Since the last action."""
        self._revision: int | None = None

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        self._learn(observation)
        if observation.settling:
            self._intervals = 0
            return [pool.hold(SETTLING if pool.settling else _OTHERS) for pool in observation.pools.values()]
        if not self._timer.due(observation.snapshot.time_s):
            return observation.hold_all(f"decides every {human(self._interval_s)}: hold")
        self._intervals += 1
        waited, needed = self._intervals, self.options.warm_up + self.options.activation
        if waited < needed:
            return observation.hold_all(f"interval {waited} since the last action, {needed} are needed: hold")
        try:
            return self._size(observation)
        except NotMeasuredError as error:
            return observation.hold_all(f"{error}: hold")

    def _learn(self, observation: Observation) -> None:
        if observation.plan.revision != self._revision:
            self._intervals = 0 if self._revision is not None else self.options.warm_up
            self._revision = observation.plan.revision
            self._window.clear()
        self._routes.update(observation.snapshot)
        self._window.add(observation.snapshot.time_s, observation.measures)

    def _size(self, observation: Observation) -> list[Decision]:
        external = self._window.external_rate
        if external is None:
            raise NotMeasuredError("the rate at the sources was not measured")
        loads = self._routes.arrival_rates(external)
        if loads is None:
            raise NotMeasuredError("the rates on the streams were not measured")
        busy = {name: self._busy(pool, loads) for name, pool in observation.pools.items()}
        factor = 1 + self.options.scaling_factor
        wanted = {name: max(1, math.ceil(number * factor - _ROUNDING)) for name, number in busy.items()}
        ratio = self._unread(external)
        if ratio > 1 and all(wanted[name] <= pool.size for name, pool in observation.pools.items()):
            wanted = {name: math.ceil(number * ratio - _ROUNDING) for name, number in wanted.items()}
        sizes = {name: pool.size for name, pool in observation.pools.items()}
        if _is_significant(observation, wanted):
            sizes = within_budget(observation, wanted)
        return [_resize(observation.pools[name], sizes[name], busy[name], wanted[name]) for name in sizes]

    def _busy(self, pool: PoolView, loads: Mapping[OperatorName, float]) -> float:
        """The executors that the load of all operators of the pool keeps busy."""
        total = 0.0
        for operator in pool.measured:
            if loads[operator] <= 0:
                continue
            rate = self._window.mean(operator, "service_rate")
            if not rate:
                raise NotMeasuredError(f"the true rate of {operator} was not measured")
            total += loads[operator] / rate
        return total

    def _unread(self, external: float) -> float:
        """Records that arrive over those that are read, if that is above the threshold; else 1."""
        topology = self.goal.topology
        readers = {stream.consumer for stream in topology.streams if stream.producer in topology.sources}
        mean = self._window.mean
        rates = [(mean(name, "arrival_rate"), mean(name, "completion_rate")) for name in readers]
        ratio = max((arrived / completed for arrived, completed in rates if arrived and completed), default=1.0)
        threshold = self.options.target_rate_ratio
        return ratio if threshold is not None and external > 0 and ratio > threshold else 1.0


_OTHERS = "another pool settles, and rates are measured when all have: hold"


def _is_significant(observation: Observation, wanted: Mapping[PoolName, int]) -> bool:
    """Whether a pool needs more, or at least two fewer."""
    return any(wanted[name] > pool.size or wanted[name] < pool.size - 1 for name, pool in observation.pools.items())


def _resize(pool: PoolView, size: int, busy: float, wanted: int) -> Decision:
    utilisation = busy / size
    reason = f"{_needs(busy, wanted)}: {resize(pool.size, size)}, expected utilisation {utilisation:.0%}"
    return pool.scale(size, reason, utilisation=utilisation)


def _needs(busy: float, wanted: int) -> str:
    return f"the source rates keep {busy:.2f} executors busy and need {wanted}"
