"""Examine (StreamSwitch 4): what the cumulative counts of an operator's substreams say about rates and latencies."""

from dataclasses import dataclass

import numpy as np

from rheostat.measure.latency import NO_EXECUTOR, Counts, Floats, LatencyFromCounts
from rheostat.names import OperatorName
from rheostat.policies.streamswitch.executor import Substream
from rheostat.policies.streamswitch.settings import Timing
from rheostat.policies.streamswitch.waiting import Waiting
from rheostat.snapshot import OperatorState, Snapshot
from rheostat.topology import Operator


@dataclass(frozen=True, slots=True)
class State:
    """Of one operator at the end of a slot; a stateless one is a single substream.

    `latencies_s` is NaN where nothing completed in the window, `waited_s` how long the oldest record waits at least
    where nothing completes. `unknown` names the substreams whose counts are missing: then nothing may be diagnosed.
    """

    arrival_rates: Floats
    latencies_s: Floats
    waited_s: Floats
    by_executor: dict[int, float]
    unknown: tuple[int, ...]

    @property
    def measured(self) -> bool:
        """Whether all arrival rates are known: not at the first look."""
        return not self.unknown and not bool(np.isnan(self.arrival_rates).any())

    def substreams(self) -> list[Substream]:
        """All of them, in the order of their numbers."""
        latencies_s = [None if latency_s != latency_s else latency_s for latency_s in self.latencies_s.tolist()]
        return list(map(Substream, range(len(latencies_s)), self.arrival_rates.tolist(), latencies_s))

    def latency_s(self, executor: int, substreams: list[int]) -> float:
        """l_i: the mean over what completed in the window by the map in force then; where nothing completed, how
        long the records of its `substreams` have waited so far."""
        known = self.by_executor.get(executor)
        return float(self.waited_s[substreams].max(initial=0.0)) if known is None else known

    def overall_s(self) -> float:
        """The latency of the operator as a whole, which is that of each executor where load divides evenly."""
        completed = ~np.isnan(self.latencies_s)
        if not completed.any():
            return float(self.waited_s.max())
        weights = np.maximum(self.arrival_rates[completed], 1e-9)
        return float(np.average(self.latencies_s[completed], weights=weights))

    def success(self, latency_s: float) -> float | None:
        """The share of substreams that meet `latency_s` in this window; None when there is nothing to judge."""
        completed = ~np.isnan(self.latencies_s)
        late = np.where(completed, self.latencies_s > latency_s, self.waited_s > latency_s)
        judged = int((completed | late).sum())
        return 1.0 - int(late.sum()) / judged if judged else None


class Examiner:
    """Looks at one operator at the end of every slot. Slots without a look are interpolated later (4.3)."""

    def __init__(self, operator: Operator, timing: Timing) -> None:
        self.timing = timing
        self._operator, self._name = operator, OperatorName(operator.name)
        self._latency = LatencyFromCounts(operator.substream_count or 1, timing.slot_s, timing.slots)
        self._waiting = Waiting(operator.substream_count or 1)

    def look(self, turn: int, snapshot: Snapshot) -> State | None:
        """The state at this turn of the loop; None when it does not end a slot."""
        if turn % self.timing.turns:
            return None
        counts = self._counts(snapshot)
        self._latency.update(turn // self.timing.turns, counts)
        return State(
            self._latency.arrival_rates(),
            self._latency.by_substream(),
            self._waiting.update(snapshot.time_s, counts),
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
