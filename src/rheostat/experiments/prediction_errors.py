"""Prediction errors: how far a policy's expected input and planned executors were from the true input and the need.

Two of PA-SPS's six metrics, computed for any policy over intervals of 30 s (its td).
"""

from dataclasses import dataclass, field

import msgspec

from rheostat.experiments.needed_executors import mean_costs, needed_executors
from rheostat.loop.turn import Turn
from rheostat.policies.expectation import Expectation, Expecting
from rheostat.policies.policy import Policy
from rheostat.sim.model import SimModel
from rheostat.snapshot import Snapshot

INTERVAL_S = 30.0
_ROUNDING = 1e-9


class PredictionErrors(msgspec.Struct, frozen=True):
    """Mean absolute percentage errors over intervals, as shares; None without any interval to compare.

    `input_error` is the error of the policy's own forecasts. A policy without forecasts is taken to expect each
    interval to be like the one before. `needed_executors` is the mean over intervals of the executors that the true
    input needed (eq. 2), `replica_error` the error of the planned executors against it.
    """

    input_error: float | None
    replica_error: float | None
    needed_executors: float | None


class PredictionErrorTracker:
    """Listens to the loop of one run and collects its prediction errors."""

    def __init__(self, model: SimModel, policy: Policy) -> None:
        self._model = model
        self._forecasts = _PolicyForecasts(policy) if isinstance(policy, Expecting) else _NaiveForecasts()
        self._interval: _Interval | None = None
        self._replica_errors, self._needed = _RunningMean(), _RunningMean()

    def __call__(self, turn: Turn) -> None:
        if turn.snapshot is None:
            return
        entered = _entered(self._model, turn.snapshot)
        self._forecasts.observe(turn.time_s, float(sum(entered.values())))
        if self._interval is not None and turn.time_s >= self._interval.start_s + INTERVAL_S - _ROUNDING:
            self._compare(self._interval, turn.time_s, entered)
            self._interval = None
        if self._interval is None:
            self._interval = _Interval(turn.time_s, entered)
        self._interval.planned.add(float(turn.plan.total))

    def result(self) -> PredictionErrors:
        return PredictionErrors(self._forecasts.errors.value, self._replica_errors.value, self._needed.value)

    def _compare(self, interval: "_Interval", now_s: float, entered: dict[str, int]) -> None:
        passed_s = now_s - interval.start_s
        rates = {name: (count - interval.entered[name]) / passed_s for name, count in entered.items()}
        needed = needed_executors(self._model, rates, mean_costs(self._model, interval.start_s, now_s))
        self._needed.add(needed)
        self._replica_errors.add(abs((interval.planned.value or 0.0) - needed) / needed)


@dataclass
class _RunningMean:
    """The mean of the values added so far; None before the first."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total, self.count = self.total + value, self.count + 1

    @property
    def value(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass
class _Interval:
    """The records that had entered at its start, and the executors planned in each turn since."""

    start_s: float
    entered: dict[str, int]
    planned: _RunningMean = field(default_factory=_RunningMean)


class _PolicyForecasts:
    """Compares each of a policy's expectations with the true input when its interval is over."""

    def __init__(self, policy: Expecting) -> None:
        self.errors = _RunningMean()
        self._policy = policy
        self._open: list[tuple[Expectation, float]] = []
        self._latest: Expectation | None = None

    def observe(self, time_s: float, entered: float) -> None:
        over = [pair for pair in self._open if time_s >= pair[0].until_s - _ROUNDING]
        for expectation, before in over:
            self._open.remove((expectation, before))
            if (arrived := entered - before) > 0:
                self.errors.add(abs(expectation.events - arrived) / arrived)
        if self._policy.expectation is not None and self._policy.expectation != self._latest:
            self._latest = self._policy.expectation
            self._open.append((self._latest, entered))


class _NaiveForecasts:
    """Expects each interval to be like the one before."""

    def __init__(self) -> None:
        self.errors = _RunningMean()
        self._start: tuple[float, float] | None = None
        self._before: float | None = None

    def observe(self, time_s: float, entered: float) -> None:
        if self._start is None:
            self._start = time_s, entered
        elif time_s >= self._start[0] + INTERVAL_S - _ROUNDING:
            arrived = entered - self._start[1]
            if self._before is not None and arrived > 0:
                self.errors.add(abs(self._before - arrived) / arrived)
            self._start, self._before = (time_s, entered), arrived


def _entered(model: SimModel, snapshot: Snapshot) -> dict[str, int]:
    """Records that each source has sent so far."""
    sources = model.topology.sources
    rows = [(stream.name, stream.rows or 0) for stream in snapshot.streams if stream.name in sources]
    return {name: max((count for source, count in rows if source == name), default=0) for name in sources}
