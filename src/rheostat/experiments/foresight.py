"""How well a policy foresaw: the input it expected, and the executors it wanted, against what came and was needed.

Two of PA-SPS's six metrics, for any policy. They compare intervals of 30 s, its td.
"""

from dataclasses import dataclass, field

import msgspec

from rheostat.experiments.needed import needed_executors
from rheostat.loop.turn import Turn
from rheostat.policies.expectation import Expectation, Expecting
from rheostat.policies.policy import Policy
from rheostat.sim.model import SimModel
from rheostat.snapshot import Snapshot

INTERVAL_S = 30.0
_ROUNDING = 1e-9


class Foresight(msgspec.Struct, frozen=True):
    """Mean absolute percentage errors over intervals, as shares; None where there was no interval to compare.

    `input_error` is that of the policy's own forecasts. A policy that makes none is taken to expect each interval to
    be as the one before. `needed_executors` is the mean over intervals of what the true input needed (eq. 2), and
    `replica_error` how far from it the number wanted was.
    """

    input_error: float | None
    replica_error: float | None
    needed_executors: float | None


class Foreseen:
    """Listens to the loop of one run."""

    def __init__(self, model: SimModel, policy: Policy) -> None:
        self._model = model
        self._forecasts = _Forecasts(policy) if isinstance(policy, Expecting) else _AsBefore()
        self._interval: _Interval | None = None
        self._replica_errors, self._needed = _Mean(), _Mean()

    def __call__(self, period: Turn) -> None:
        if period.snapshot is None:
            return
        entered = _entered(self._model, period.snapshot)
        self._forecasts.see(period.time_s, float(sum(entered.values())))
        if self._interval is not None and period.time_s >= self._interval.start_s + INTERVAL_S - _ROUNDING:
            self._compare(self._interval, period.time_s, entered)
            self._interval = None
        if self._interval is None:
            self._interval = _Interval(period.time_s, entered)
        self._interval.wanted.add(float(period.plan.total))

    def result(self) -> Foresight:
        return Foresight(self._forecasts.errors.value, self._replica_errors.value, self._needed.value)

    def _compare(self, interval: "_Interval", now_s: float, entered: dict[str, int]) -> None:
        passed_s = now_s - interval.start_s
        rates = {name: (count - interval.entered[name]) / passed_s for name, count in entered.items()}
        needed = needed_executors(self._model, rates)
        self._needed.add(needed)
        self._replica_errors.add(abs((interval.wanted.value or 0.0) - needed) / needed)


@dataclass
class _Mean:
    """A mean that grows; None before anything is added."""

    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total, self.count = self.total + value, self.count + 1

    @property
    def value(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass
class _Interval:
    """What had entered when it began, and the executors wanted in each turn since."""

    start_s: float
    entered: dict[str, int]
    wanted: _Mean = field(default_factory=_Mean)


class _Forecasts:
    """Compares each of a policy's expectations with what came, once its time is over."""

    def __init__(self, policy: Expecting) -> None:
        self.errors = _Mean()
        self._policy = policy
        self._open: list[tuple[Expectation, float]] = []
        self._latest: Expectation | None = None

    def see(self, time_s: float, entered: float) -> None:
        over = [pair for pair in self._open if time_s >= pair[0].until_s - _ROUNDING]
        for expectation, before in over:
            self._open.remove((expectation, before))
            if (came := entered - before) > 0:
                self.errors.add(abs(expectation.events - came) / came)
        if self._policy.expectation is not None and self._policy.expectation != self._latest:
            self._latest = self._policy.expectation
            self._open.append((self._latest, entered))


class _AsBefore:
    """Expects each interval to be as the one before."""

    def __init__(self) -> None:
        self.errors = _Mean()
        self._start: tuple[float, float] | None = None
        self._before: float | None = None

    def see(self, time_s: float, entered: float) -> None:
        if self._start is None:
            self._start = time_s, entered
        elif time_s >= self._start[0] + INTERVAL_S - _ROUNDING:
            came = entered - self._start[1]
            if self._before is not None and came > 0:
                self.errors.add(abs(self._before - came) / came)
            self._start, self._before = (time_s, entered), came


def _entered(model: SimModel, snapshot: Snapshot) -> dict[str, int]:
    """Records that each source has sent so far."""
    sources = model.topology.sources
    rows = [(stream.name, stream.rows or 0) for stream in snapshot.streams if stream.name in sources]
    return {name: max((count for source, count in rows if source == name), default=0) for name in sources}
