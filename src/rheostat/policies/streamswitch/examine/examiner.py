"""Examiner: arrival rates and latencies of an operator from the counters of its substreams (StreamSwitch 4)."""

from dataclasses import dataclass

import numpy as np

from rheostat.measure.latency_from_counts import NO_EXECUTOR, Counts, Floats, LatencyFromCounts
from rheostat.names import OperatorName
from rheostat.policies.streamswitch.model.executor import Substream
from rheostat.policies.streamswitch.settings import Timing
from rheostat.snapshot import OperatorState, Snapshot
from rheostat.topology import Operator


@dataclass(frozen=True, slots=True)
class ExaminedOperator:
    """One operator at the end of a time slot; a stateless one is a single substream.

    `latencies_s` is NaN where nothing completed in the window, `stalled_s` how long the oldest record has waited at
    least where nothing completes. `unknown` lists the substreams whose counters are missing: then nothing may be
    diagnosed.
    """

    arrival_rates: Floats
    latencies_s: Floats
    stalled_s: Floats
    by_executor: dict[int, float]
    unknown: tuple[int, ...]

    @property
    def measured(self) -> bool:
        """Whether all arrival rates are known: not at the first slot."""
        return not self.unknown and not bool(np.isnan(self.arrival_rates).any())

    def substreams(self) -> list[Substream]:
        """All of them, in the order of their numbers."""
        latencies_s = [None if latency_s != latency_s else latency_s for latency_s in self.latencies_s.tolist()]
        return list(map(Substream, range(len(latencies_s)), self.arrival_rates.tolist(), latencies_s))

    def latency_s(self, executor: int, substreams: list[int]) -> float:
        """l_i: the mean over what completed in the window, by the assignment at that time; where nothing completed, how
        long the records of its `substreams` have waited so far."""
        known = self.by_executor.get(executor)
        return float(self.stalled_s[substreams].max(initial=0.0)) if known is None else known

    def overall_s(self) -> float:
        """The latency of the operator as a whole, which is that of each executor where all have equal shares."""
        completed = ~np.isnan(self.latencies_s)
        if not completed.any():
            return float(self.stalled_s.max())
        weights = np.maximum(self.arrival_rates[completed], 1e-9)
        return float(np.average(self.latencies_s[completed], weights=weights))

    def success(self, latency_s: float) -> float | None:
        """The share of substreams that meet `latency_s` in this window; None when there is nothing to judge."""
        completed = ~np.isnan(self.latencies_s)
        late = np.where(completed, self.latencies_s > latency_s, self.stalled_s > latency_s)
        judged = int((completed | late).sum())
        return 1.0 - int(late.sum()) / judged if judged else None


class StalledTimes:
    """How long records have waited at least where nothing completes: latencies of completed records do not show it."""

    def __init__(self, substreams: int) -> None:
        self._completed = np.full(substreams, np.nan)
        self._since_s = np.full(substreams, np.nan)

    def update(self, time_s: float, counts: Counts) -> Floats:
        """Seconds since the first slot in which a record waited that still waits; 0 where none does. For a substream
        whose counters are not known now they keep counting."""
        known = ~(np.isnan(counts.arrived) | np.isnan(counts.completed))
        waits = known & (counts.arrived > counts.completed)
        stalled = waits & (counts.completed == self._completed)
        self._since_s[known & ~waits] = np.nan
        self._since_s[waits & ~(stalled & ~np.isnan(self._since_s))] = time_s
        self._completed[known] = counts.completed[known]
        return np.where(np.isnan(self._since_s), 0.0, time_s - self._since_s)


class Examiner:
    """Examines one operator at the end of every time slot. Slots that were skipped are interpolated later (4.3)."""

    def __init__(self, operator: Operator, timing: Timing) -> None:
        self.timing = timing
        self._operator, self._name = operator, OperatorName(operator.name)
        self._latency = LatencyFromCounts(operator.substream_count or 1, timing.slot_s, timing.slots)
        self._stalled = StalledTimes(operator.substream_count or 1)

    def examine(self, turn: int, snapshot: Snapshot) -> ExaminedOperator | None:
        """The state at this turn of the loop; None when no slot ends with it."""
        if turn % self.timing.turns:
            return None
        counts = self._counts(snapshot)
        self._latency.update(turn // self.timing.turns, counts)
        return ExaminedOperator(
            self._latency.arrival_rates(),
            self._latency.by_substream(),
            self._stalled.update(snapshot.time_s, counts),
            self._latency.by_executor(),
            tuple(int(index) for index in np.flatnonzero(~self._latency.known)),
        )

    def _counts(self, snapshot: Snapshot) -> Counts:
        if self._operator.keyed:
            return Counts.of(snapshot, self._name, self._operator.substream_count)
        state = snapshot.operators.get(self._name) or OperatorState(self._name)
        arrived, completed = np.array([np.nan]), np.array([np.nan])
        if state.arrived is not None and state.completed is not None:
            arrived[0], completed[0] = state.arrived - (state.lost or 0), state.completed
        return Counts(arrived, completed, np.array([NO_EXECUTOR]))
