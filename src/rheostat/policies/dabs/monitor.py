"""Monitoring window: snapshots at equal distances over one iteration, all under the same allocation."""

from collections import deque
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from rheostat.duration import human
from rheostat.measure.unknown import total
from rheostat.names import OperatorName, PoolName
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.interval_timer import IntervalTimer
from rheostat.policies.observation import NotMeasuredError, Observation
from rheostat.snapshot import ExecutorState, OperatorState, Snapshot

Rows = dict[tuple[str, OperatorName], int | None]
"""Rows on each stream so far, by its name and its reader."""


@dataclass(frozen=True)
class Iteration:
    """One iteration Fʲ: the snapshots at its samples, the one before its first included."""

    snapshots: tuple[Snapshot, ...]

    @property
    def length_s(self) -> float:
        return self.snapshots[-1].time_s - self.snapshots[0].time_s

    @property
    def now(self) -> Snapshot:
        return self.snapshots[-1]

    def arrival_rates(self, operator: OperatorName) -> list[float]:
        """Records per second that arrived at `operator` from each sample to the next: they need not be equally long."""
        what = f"arrivals at {operator!r}"
        counts = [_known(self._operator(snapshot, operator).arrived, what) for snapshot in self.snapshots]
        came = [_grown(one, other, what) for one, other in pairwise(counts)]
        lengths_s = [later.time_s - earlier.time_s for earlier, later in pairwise(self.snapshots)]
        return [records / length_s for records, length_s in zip(came, lengths_s, strict=True)]

    def completed(self, operator: OperatorName) -> float:
        return self._over("completions", operator, "completed")

    def busy_s(self, operator: OperatorName) -> float:
        return self._over("useful time", operator, "busy_s")

    def pending(self, operator: OperatorName) -> float:
        return _known(self._operator(self.now, operator).queued, f"the backlog of {operator!r}")

    def rows(self, stream: str, consumer: OperatorName) -> float | None:
        """Rows on a stream; None where that was not measured."""
        first, last = (rows.get((stream, consumer)) for rows in self._rows_at_ends)
        return None if first is None or last is None or last < first else float(last - first)

    def used(self, executor: ExecutorState) -> float | None:
        """The share of a core that `executor` used: its processor time, or its useful time where that is unknown."""
        before = self._executors_before.get((executor.pool, executor.id))
        if before is None:
            return None
        for last, first in ((executor.cpu_s, before.cpu_s), (executor.busy_s, before.busy_s)):
            if last is not None and first is not None and last >= first:
                return (last - first) / self.length_s
        return None

    @cached_property
    def _executors_before(self) -> dict[tuple[PoolName, int], ExecutorState]:
        return {(state.pool, state.id): state for state in self.snapshots[0].executors}

    @cached_property
    def _rows_at_ends(self) -> tuple[Rows, Rows]:
        return _rows(self.snapshots[0]), _rows(self.now)

    def _over(self, what: str, operator: OperatorName, field: str) -> float:
        ends = (getattr(self._operator(snapshot, operator), field) for snapshot in (self.snapshots[0], self.now))
        first, last = (_known(value, f"{what} of {operator!r}") for value in ends)
        return _grown(first, last, f"{what} of {operator!r}")

    @staticmethod
    def _operator(snapshot: Snapshot, name: OperatorName) -> OperatorState:
        return snapshot.operators.get(name) or OperatorState(name)


class IterationMonitor:
    """Collects snapshots. While a pool is settling monitoring is off (DABS-Storm, footnote 3); it starts again when the
    backlog that the change has left is worked off, or no longer falls: what catches up is no trend. An iteration later
    it starts in any case.
    """

    def __init__(self, options: DabsOptions) -> None:
        self._options = options
        self._snapshots: deque[Snapshot] = deque(maxlen=options.samples + 1)
        self._timer = IntervalTimer(options.sample_s)
        self._sizes: dict[PoolName, tuple[int, ...]] | None = None
        self._changed_s: float | None = None
        self._queued: float | None = None

    def update(self, observation: Observation) -> None:
        """Add one more turn; every turn must be added."""
        time_s = observation.snapshot.time_s
        sizes = {name: pool.executors for name, pool in observation.plan.pools.items()}
        if observation.settling or sizes != self._sizes:
            self._snapshots.clear()
            self._timer = IntervalTimer(self._options.sample_s)
            self._changed_s = time_s if self._sizes is not None else None
        self._sizes = sizes
        catches_up = self._catches_up(observation)
        if not observation.settling and not catches_up and self._is_due(time_s):
            self._snapshots.append(observation.snapshot)

    def _catches_up(self, observation: Observation) -> bool:
        """Whether, after a change, the backlog is more than arrives in a sample, and falls, or may fall from now on."""
        queued = None if observation.settling else total([it.queued for it in observation.measures.operators.values()])
        before, self._queued = self._queued, queued
        if self._changed_s is None or queued is None:
            return False
        if observation.snapshot.time_s - self._changed_s >= self._options.iteration_s or self._snapshots:
            return False
        rates = [each.arrival_rate for each in observation.measures.operators.values()]
        few = (total(rates) or 0.0) * self._options.sample_s / max(1, len(rates))
        return queued > few and (before is None or queued < before)

    def why_wait(self) -> str | None:
        """Why there is no complete iteration, or None."""
        missing = self._options.samples + 1 - len(self._snapshots)
        if missing <= 0:
            return None
        return f"no complete iteration yet: hold for {human(missing * self._options.sample_s)}"

    def iteration(self) -> Iteration:
        return Iteration(tuple(self._snapshots))

    def is_new(self, time_s: float) -> bool:
        """Whether the last sample was taken at `time_s`: between samples nothing is decided."""
        return bool(self._snapshots) and self._snapshots[-1].time_s == time_s

    def _is_due(self, time_s: float) -> bool:
        return self._timer.due(time_s) or not self._snapshots


def _rows(snapshot: Snapshot) -> Rows:
    return {(stream.name, stream.consumer): stream.rows for stream in snapshot.streams}


def _known(value: float | None, what: str) -> float:
    if value is None:
        raise NotMeasuredError(f"{what} not measured: hold")
    return float(value)


def _grown(first: float, last: float, what: str) -> float:
    if last < first:
        raise NotMeasuredError(f"the counter of {what} fell from {first:g} to {last:g}: hold")
    return last - first
