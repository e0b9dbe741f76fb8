"""Flink: the rule of the Flink Kubernetes operator's autoscaler.

The true processing rate of a pool is what it completes over the share of the time in which it is busy. The capacity it
should have is its input over the target utilisation, plus what catches up with the backlog within `catch_up`, plus what
arrives during a restart, caught up in the same time. The executors are multiplied by the ratio of both. An action is
taken if the true rate of a pool that would change is outside the boundaries; then all of them change. Executors leave
only after `scale_down_interval`.

In Flink only sources have a backlog, because all others are slowed down instead. Here every operator may have one: it
counts at its operator, and is carried on downstream like the sources' is.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence

import msgspec

from rheostat.decision import Decision
from rheostat.describe import resize
from rheostat.duration import human, positive_seconds, seconds
from rheostat.names import OperatorName, PoolName
from rheostat.policies.flink.capacity import ProcessingDemand, scale_factor, scaled
from rheostat.policies.flink.options import FlinkOptions
from rheostat.policies.measures_window import MeasuresWindow
from rheostat.policies.observation import SETTLING, NotMeasuredError, Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.routes import Routes
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Goal


class _Verdict(msgspec.Struct, frozen=True):
    """What one pool can process and should be able to process, in executors; and the size that follows."""

    busy: float
    backlog: float
    capacity: float
    wanted: int
    is_outside: bool


class Flink(Policy[FlinkOptions]):
    """Sizes pools for a target utilisation and to catch up with their backlog."""

    summary = "a target utilisation, and a backlog caught up in a given time (Flink's autoscaler)"

    def __init__(self, goal: Goal, options: FlinkOptions | None = None) -> None:
        super().__init__(goal, options)
        self._window_s = positive_seconds(self.options.metrics_window, "metrics_window")
        self._stabilisation_s = seconds(self.options.stabilisation, "stabilisation")
        self._catch_up_s = seconds(self.options.catch_up, "catch_up")
        self._restart_s = seconds(self.options.restart, "restart")
        self._delay_s = seconds(self.options.scale_down_interval, "scale_down_interval")
        self._threshold_s = seconds(self.options.backlog_threshold, "backlog_threshold")
        self._window = MeasuresWindow(self._window_s)
        self._routes = Routes(goal.topology)
        self._revision: int | None = None
        self._changed_s = 0.0
        self._fewer: dict[PoolName, deque[tuple[float, int]]] = {}
        self._fewer_since_s: dict[PoolName, float] = {}

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        time_s = observation.snapshot.time_s
        self._routes.update(observation.snapshot)
        if observation.plan.revision != self._revision or observation.settling or time_s < self._changed_s:
            self._revision, self._changed_s = observation.plan.revision, time_s
            self._window.clear()
        if observation.settling:
            return [pool.hold(SETTLING if pool.settling else _OTHERS) for pool in observation.pools.values()]
        if (stable_s := self._changed_s + self._stabilisation_s) > time_s:
            return observation.hold_all(f"{human(stable_s - time_s)} left to stabilise after the last action: hold")
        self._window.add(time_s, observation.measures)
        if (full_s := stable_s + self._window_s) > time_s + 1e-9:
            return observation.hold_all(f"{human(full_s - time_s)} left until enough is measured: hold")
        try:
            return self._size(observation)
        except NotMeasuredError as error:
            return observation.hold_all(f"{error}: hold")

    def _size(self, observation: Observation) -> list[Decision]:
        demands = self._demands(observation)
        verdicts = {name: self._judge(observation, pool, demands) for name, pool in observation.pools.items()}
        time_s = observation.snapshot.time_s
        allowed = {n: self._delayed(observation.pools[n], each.wanted, time_s) for n, each in verdicts.items()}
        changing = [name for name, pool in observation.pools.items() if allowed[name] != pool.size]
        if any(verdicts[name].is_outside for name in changing):
            sizes = within_budget(observation, allowed)
        else:
            sizes = {name: pool.size for name, pool in observation.pools.items()}
        return [self._decision(observation.pools[name], verdicts[name], sizes[name]) for name in sizes]

    def _demands(self, observation: Observation) -> dict[OperatorName, ProcessingDemand]:
        """The input of each operator, carried on from the sources, and so its backlog over the time to catch up."""
        external = self._window.external_rate
        if external is None:
            raise NotMeasuredError("the rate at the sources was not measured")
        rates = self._routes.arrival_rates(external)
        catch_up = self._routes.carried_on(self._catch_up_rates(observation))
        if rates is None or catch_up is None:
            raise NotMeasuredError("the rates on the streams were not measured")
        return {name: ProcessingDemand(rates[name], catch_up[name]) for name in rates}

    def _catch_up_rates(self, observation: Observation) -> dict[OperatorName, float]:
        if not self._catch_up_s:
            return {}
        return {name: (each.queued or 0.0) / self._catch_up_s for name, each in observation.measures.operators.items()}

    def _judge(
        self, observation: Observation, pool: PoolView, demands: Mapping[OperatorName, ProcessingDemand]
    ) -> _Verdict:
        """All in executors, so that operators of one pool add up: a rate over that of one busy executor."""
        options, restart = self.options, self._restart_s / self._catch_up_s if self._catch_up_s else 0.0
        is_late = self._is_late(observation, demands)
        high = 1.0 if is_late else min(1.0, options.target_utilisation + options.boundary)
        low = 0.0 if is_late else options.target_utilisation - options.boundary
        busy = target = most = least = backlog = 0.0
        for operator in pool.measured:
            demand, rate = demands[operator], self._true_rate(operator, demands[operator])
            busy += demand.rate / rate
            target += demand.capacity(options.target_utilisation, restart) / rate
            least += demand.capacity(high) / rate
            most += demand.capacity(low, restart) / rate
            backlog += observation.measures.operators[operator].queued or 0.0
        factor = scale_factor(target, pool.size, options.max_scale_down, options.max_scale_up)
        wanted = scaled(pool.size, factor, *_bounds(pool), _substreams(observation, pool))
        return _Verdict(busy, backlog, target, wanted, not least <= pool.size <= most)

    def _true_rate(self, operator: OperatorName, demand: ProcessingDemand) -> float:
        """Records per second of one busy executor; infinite where nothing has to be processed."""
        if not demand.rate and not demand.catch_up_rate:
            return math.inf
        rate = self._window.mean(operator, "service_rate")
        if not rate:
            raise NotMeasuredError(f"the true processing rate of {operator} was not measured")
        return rate

    def _is_late(self, observation: Observation, demands: Mapping[OperatorName, ProcessingDemand]) -> bool:
        """Whether a backlog is so old that the pipeline is left to work it off."""
        return any(
            (observation.measures.operators[name].queued or 0.0) > self._threshold_s * demand.rate > 0
            for name, demand in demands.items()
        )

    def _delayed(self, pool: PoolView, wanted: int, time_s: float) -> int:
        """The size after the delay of scale-ins: the largest that was wanted in it."""
        recent = self._fewer.setdefault(pool.name, deque())
        if wanted >= pool.size:
            recent.clear()
            self._fewer_since_s.pop(pool.name, None)
            return wanted
        since_s = self._fewer_since_s.setdefault(pool.name, time_s)
        recent.append((time_s, wanted))
        while recent[0][0] < time_s - self._delay_s:
            recent.popleft()
        return max(number for _, number in recent) if time_s - since_s >= self._delay_s else pool.size

    def _decision(self, pool: PoolView, verdict: _Verdict, size: int) -> Decision:
        target = self.options.target_utilisation
        measured = f"the input keeps {verdict.busy:.2f} executors busy, backlog {verdict.backlog:,.0f} records"
        needs = f"{verdict.capacity:.2f} are needed at {target:.0%} and to catch up in {human(self._catch_up_s)}"
        wait = f", {verdict.wanted} later" if verdict.wanted < pool.size == size and verdict.is_outside else ""
        expected = verdict.busy / size
        return pool.scale(
            size,
            f"{measured}; {needs}: {resize(pool.size, size)}{wait}, expected utilisation {expected:.0%}",
            utilisation=expected,
        )


_OTHERS = "another pool settles, and rates are measured when all have: hold"


def _bounds(pool: PoolView) -> tuple[int, int]:
    """Present sizes outside the bounds are no reason to change."""
    return min(pool.size, pool.bounds.least), max(pool.size, pool.bounds.most)


def _substreams(observation: Observation, pool: PoolView) -> int | None:
    """Of a pool that serves one keyed operator."""
    counts = [len(observation.plan.assignment.get(operator, ())) for operator in pool.operators]
    return counts[0] if len(counts) == 1 and counts[0] else None
