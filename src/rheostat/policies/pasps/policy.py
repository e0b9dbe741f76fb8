"""PA-SPS and PSPS: sample the input at each turn; every td forecast it, and set the replicas that it will need."""

import math
from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rheostat.decision import Decision
from rheostat.describe import resize
from rheostat.duration import human, positive_seconds
from rheostat.forecast import Forecast, Forecaster, make_model
from rheostat.forecast.model import Floats
from rheostat.names import OperatorName, PoolName
from rheostat.policies.expectation import Expectation
from rheostat.policies.interval_timer import IntervalTimer
from rheostat.policies.observation import SETTLING, Observation, PoolView
from rheostat.policies.pasps.execution_times import ExecutionTimes
from rheostat.policies.pasps.input_samples import InputSamples
from rheostat.policies.pasps.options import PaSpsOptions, PspsOptions
from rheostat.policies.pasps.replicas import ReplicaNeed, load, replicas_within_budget
from rheostat.policies.pasps.stream_shares import StreamShares
from rheostat.policies.policy import Policy
from rheostat.policies.regroup import regroups
from rheostat.policies.start_times import StartTimes
from rheostat.sla import Goal

AnyPspsOptions = TypeVar("AnyPspsOptions", bound=PspsOptions)


class ReplicasByForecast(Policy[AnyPspsOptions]):
    """As many replicas as a forecast of the input says that the next interval needs, and as what is queued needs."""

    def __init__(self, goal: Goal, options: AnyPspsOptions | None = None) -> None:
        super().__init__(goal, options)
        self.expectation: Expectation | None = None
        self._forecaster = self._made_forecaster()
        self._recent: dict[PoolName, deque[tuple[float, int]]] = {}
        self._timer = IntervalTimer(self.options.td_s)
        self._input = InputSamples(self.options.sample_s, self.options.samples)
        self._shares = StreamShares(goal.topology)
        goal.topology.operators.check(self.options.execution_time)
        calibrated = self.options.execution_time.items()
        self._times = ExecutionTimes({OperatorName(name): positive_seconds(time) for name, time in calibrated})

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """Every td one decision for each pool.

        In between nothing, except regrouping.
        """
        self._input.update(observation)
        self._shares.update(observation.snapshot)
        self._times.update(observation)
        if not self._timer.due(observation.snapshot.time_s):
            return regroups(observation, self.options.grouping)
        self._shares.end_interval()
        self._times.end_interval()
        return self._plan(observation)

    @abstractmethod
    def _made_forecaster(self) -> Forecaster: ...

    def _events(self, forecast: Forecast) -> float:
        """λ̂_G: the events to plan for, of the interval that begins now."""
        return self._in_interval(forecast.mean)

    def _in_interval(self, rates: Floats) -> float:
        """Events in td at these rates; td need not be a whole number of samples."""
        return float(rates.mean()) * self.options.td_s

    @property
    def _steps_ahead(self) -> int:
        """How far to look, in samples."""
        return self.options.steps

    def _when(self) -> str:
        return f"in the next {human(self.options.td_s)}"

    def _plan(self, observation: Observation) -> Sequence[Decision]:
        samples, queued = self._input.window(), _queued(observation)
        if not samples:
            return observation.hold_all("the input was not measured yet: hold")
        if unknown := [name for name, waiting in queued.items() if waiting is None]:
            return observation.hold_all(f"the backlog of {', '.join(unknown)} was not measured: hold")
        forecast = self._forecaster.forecast(samples, self._steps_ahead)
        entering = self._events(forecast)
        now_s = observation.snapshot.time_s
        expected, low, high = (
            self._in_interval(rates[: self.options.steps]) for rates in (forecast.mean, forecast.low, forecast.high)
        )
        self.expectation = Expectation(now_s, now_s + self.options.td_s, expected, low, high)
        events = self._shares.events(entering, {name: waiting or 0.0 for name, waiting in queued.items()})
        return self._decisions(observation, events, _expected(forecast, entering, self._when()))

    def _decisions(self, observation: Observation, events: dict[OperatorName, float], why: str) -> list[Decision]:
        pools = list(observation.pools.values())
        loads = [self._load(pool, events) for pool in pools]
        needs = [self._need(pool, load) for pool, load in zip(pools, loads, strict=True)]
        time_s = observation.snapshot.time_s
        kept = [self._kept(pool, need, time_s) for pool, need in zip(pools, needs, strict=True)]
        scarce = sum(each.replicas for each in kept) > observation.most_executors
        given = replicas_within_budget(needs if scarce else kept, observation.most_executors)
        return [self._decision(pool, load, count, why) for pool, load, count in zip(pools, loads, given, strict=True)]

    def _load(self, pool: PoolView, events: dict[OperatorName, float]) -> float | None:
        """The work of all operators of a pool; None while the execution time of one is not known."""
        total = 0.0
        for name in pool.operators:
            execution_time_s = self._times.of(name)
            if execution_time_s is None and events[name] > 0:
                return None
            total += load(events[name], execution_time_s or 0.0, self.options.td_s)
        return total * (1 + self.options.headroom)

    def _kept(self, pool: PoolView, need: ReplicaNeed, time_s: float) -> ReplicaNeed:
        """`need`, with as many replicas as were needed at any time in the last `keep`, as far as they are there."""
        recent = self._recent.setdefault(pool.name, deque([(time_s, pool.size)]))
        recent.append((time_s, need.replicas))
        while recent[0][0] < time_s - self.options.keep_s:
            recent.popleft()
        least = min(pool.size, max(replicas for _, replicas in recent), need.most)
        return msgspec.structs.replace(need, least=max(need.least, int(least)))

    def _need(self, pool: PoolView, load: float | None) -> ReplicaNeed:
        """A pool whose work is not known needs what it has."""
        if load is None or pool.settling:
            return ReplicaNeed(float(pool.size), pool.size, pool.size)
        most = min(pool.useful, self.options.pool or pool.useful)
        return ReplicaNeed(load, pool.bounds.least, max(pool.bounds.least, most))

    def _decision(self, pool: PoolView, load: float | None, count: int, why: str) -> Decision:
        if pool.settling:
            return pool.hold(SETTLING)
        if load is None:
            return pool.hold("the execution time was not measured yet: hold")
        utilisation = load / count
        work = f"{why}, with the backlog work for {load:.2f} executors"
        reason = f"{work}: {resize(pool.size, count)}, expected utilisation {utilisation:.0%}"
        return pool.scale(count, reason, utilisation=utilisation, standby=self._inactive(count))

    def _inactive(self, active: int) -> int | None:
        """What is left of the pool is kept warm; without a configured pool the standbys stay as they are."""
        return None if self.options.pool is None else max(0, self.options.pool - active)


class Psps(ReplicasByForecast[PspsOptions]):
    """Expects of the next interval what the last one brought."""

    summary = "executors for an input as in the last interval, and for the backlog (PSPS)"

    def _made_forecaster(self) -> Forecaster:
        return Forecaster(make_model("basic"))


class PaSps(ReplicasByForecast[PaSpsOptions]):
    """Expects what a forecasting model says, and looks as far ahead as executors take to start."""

    summary = "executors for a forecast of the input, and for the backlog (PA-SPS)"

    def __init__(self, goal: Goal, options: PaSpsOptions | None = None) -> None:
        super().__init__(goal, options)
        self._starts = StartTimes()

    def decide(self, observation: Observation) -> Sequence[Decision]:
        self._starts.update(observation.snapshot)
        return super().decide(observation)

    @property
    def _lead_s(self) -> float:
        given_s = self.options.lead_s
        return self._starts.longest_s if given_s is None else given_s

    def _made_forecaster(self) -> Forecaster:
        return Forecaster(make_model(self.options.predictor, self.options.seed), level=self.options.level)

    def _events(self, forecast: Forecast) -> float:
        """Of the busiest interval that begins now or within the lead.

        A rise that is forecast only in part, at the end of the lead, is taken to last: executors for a part of it would
        still be starting when all of it is forecast, and no others would be started meanwhile.
        """
        wanted = forecast.mean if self.options.plan_for == "mean" else forecast.high
        beyond = np.full(self.options.steps - 1 if self._lead_s else 0, wanted[-1])
        parts = sliding_window_view(np.concatenate((wanted, beyond)), self.options.steps)
        return max(self._in_interval(part) for part in parts)

    @property
    def _steps_ahead(self) -> int:
        return self.options.steps + math.ceil(self._lead_s / self.options.sample_s)

    def _when(self) -> str:
        if self._lead_s == 0:
            return super()._when()
        ahead_s = self.options.td_s + self._lead_s
        return f"in {human(self.options.td_s)}, at the busiest of the next {human(ahead_s)}"


def _queued(observation: Observation) -> dict[OperatorName, float | None]:
    return {name: measures.queued for name, measures in observation.measures.operators.items()}


def _expected(forecast: Forecast, entering: float, when: str) -> str:
    expected = f"{forecast.model} expects {entering:,.0f} events {when}"
    return expected if forecast.problem is None else f"{expected} ({forecast.problem})"
