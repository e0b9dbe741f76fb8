"""Latency from counts: mean latencies from arrival and completion counters, right to within a slot (StreamSwitch 4.1).

Time is cut into slots of δ. A substream is served in order, so its r-th completed record is its r-th arrived one:
it arrived in the slot m' with r in (a[m'−1], a[m']], and when it completes in slot m its latency is (m − m')·δ.
Summed over the records (c[m−1], c[m]] completed in slot m this is

    δ · Σ over slots i < m of  min(a[i], c[m]) − c[m−1],  where that is positive,

because a record that is still waiting at the end of slot i has waited for one slot more. The sum starts at the
slot of the oldest waiting record, which only moves forward: a constant cost per slot and substream, amortised.
All substreams are worked on at once, as numpy arrays.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheostat.errors import ConfigError
from rheostat.names import OperatorName
from rheostat.snapshot import Snapshot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_EXECUTOR = -1
_NEVER = -1


@dataclass(frozen=True, slots=True)
class Counts:
    """Cumulative arrivals and completions of an operator's substreams (NaN where not known), and their executors
    (`NO_EXECUTOR` for a substream on its way)."""

    arrived: Floats
    completed: Floats
    owners: Ints

    @classmethod
    def of(cls, snapshot: Snapshot, operator: OperatorName, substreams: int) -> "Counts":
        """The counts of `operator` in `snapshot`; a substream that is not in it is unknown."""
        states = snapshot.substreams_of(operator)
        listed = [state.index for state in states]
        arrived, completed = np.full(substreams, np.nan), np.full(substreams, np.nan)
        owners = np.full(substreams, NO_EXECUTOR)
        arrived[listed] = np.array([state.arrived for state in states], dtype=np.float64)
        completed[listed] = np.array([state.completed for state in states], dtype=np.float64)
        owners[listed] = [NO_EXECUTOR if state.executor is None else state.executor for state in states]
        return cls(arrived, completed, owners)


class LatencyFromCounts:
    """Mean latencies over the last `window_slots` slots, per substream and per executor.

    Missing counts are interpolated linearly as soon as the next known ones come (4.3); until then the substream
    is not `known`. A substream whose counts fell (its plant was restarted) starts again. Records that wait at the first
    slot count as arrived then. A record is not followed for more than `horizon_slots`: older ones count as that old.
    """

    def __init__(self, substreams: int, slot_s: float, window_slots: int, *, horizon_slots: int = 4096) -> None:
        for what, value in (("substreams", substreams), ("window_slots", window_slots)):
            if value < 1:
                raise ConfigError(f"latency from counts: {what} {value!r} must be a whole number >= 1")
        self._slot_s = slot_s
        self._window = window_slots
        self._horizon = max(horizon_slots, window_slots + 2)
        self._slot = _NEVER
        self._columns = np.arange(substreams)
        self._last_slot = np.full(substreams, _NEVER)
        self._first_slot = np.full(substreams, _NEVER)
        self._last_completed = np.zeros(substreams)
        self._oldest_slot = np.zeros(substreams, dtype=np.int64)
        self._arrived = np.zeros((min(window_slots + 16, self._horizon), substreams))
        self._waited_s = np.zeros((window_slots, substreams))
        self._completed = np.zeros((window_slots, substreams))
        self._owners = np.full((window_slots, substreams), NO_EXECUTOR)

    def update(self, slot: int, counts: Counts) -> None:
        """The counts at the end of `slot`. Slots that are left out count as missing."""
        if slot <= self._slot:
            raise ConfigError(f"slot {slot} comes after slot {self._slot}: slots must be given in rising order")
        self._open_slots(slot, counts.owners)
        self._make_room(slot)
        known = ~(np.isnan(counts.arrived) | np.isnan(counts.completed))
        fresh = known & ((self._last_slot == _NEVER) | self._fell(counts))
        self._start(np.flatnonzero(fresh), slot, counts)
        self._continue(np.flatnonzero(known & ~fresh), slot, counts)

    @property
    def known(self) -> NDArray[np.bool_]:
        """For each substream, whether its counts are known up to now."""
        return np.asarray(self._last_slot == self._slot) & (self._slot != _NEVER)

    def by_substream(self) -> Floats:
        """Each substream's mean latency over the window; NaN where nothing completed."""
        return _ratio(self._waited_s.sum(axis=0), self._completed.sum(axis=0))

    def by_executor(self) -> dict[int, float]:
        """l_i of each executor that completed something in the window, by the assignment in each slot."""
        owners = self._owners.ravel() + 1
        waited = np.bincount(owners, self._waited_s.ravel())
        completed = np.bincount(owners, self._completed.ravel())
        return {int(e) - 1: float(waited[e] / completed[e]) for e in np.flatnonzero(completed) if e != 0}

    def arrival_rates(self) -> Floats:
        """λ^k = (a[n] − a[n−T/δ])/T (4.2), over the slots seen while they are fewer; NaN where not known."""
        start = np.maximum(self._first_slot, self._last_slot - self._window)
        arrived = self._at(self._last_slot) - self._at(start)
        return np.where(self.known, _ratio(arrived, (self._last_slot - start) * self._slot_s), np.nan)

    def _at(self, slots: Ints) -> Floats:
        return np.asarray(self._arrived[slots % len(self._arrived), self._columns])

    def _fell(self, counts: Counts) -> NDArray[np.bool_]:
        return np.asarray((counts.arrived < self._at(self._last_slot)) | (counts.completed < self._last_completed))

    def _open_slots(self, slot: int, owners: ArrayLike) -> None:
        """Clear the rows of the slots since the last one. Skipped slots get the assignment of this one."""
        for opened in range(max(self._slot, slot - self._window) + 1, slot + 1):
            row = opened % self._window
            self._waited_s[row] = self._completed[row] = 0.0
            self._owners[row] = owners
        self._slot = slot

    def _make_room(self, slot: int) -> None:
        """Keep every slot back to the oldest waiting record, as far as the horizon."""
        started = self._last_slot != _NEVER
        self._last_slot[started & (slot - self._last_slot >= self._horizon)] = _NEVER
        np.maximum(self._oldest_slot, slot - self._horizon + 1, out=self._oldest_slot)
        needed = slot + 1 - int(self._oldest_slot.min(where=started, initial=slot))
        if needed > len(self._arrived):
            self._grow(min(max(2 * len(self._arrived), needed), self._horizon), slot)

    def _grow(self, capacity: int, slot: int) -> None:
        grown = np.zeros((capacity, self._arrived.shape[1]))
        kept = np.arange(max(0, slot - len(self._arrived)), slot)
        grown[kept % capacity] = self._arrived[kept % len(self._arrived)]
        self._arrived = grown

    def _start(self, chosen: Ints, slot: int, counts: Counts) -> None:
        self._arrived[slot % len(self._arrived), chosen] = counts.arrived[chosen]
        self._last_completed[chosen] = counts.completed[chosen]
        self._last_slot[chosen] = self._first_slot[chosen] = self._oldest_slot[chosen] = slot

    def _continue(self, chosen: Ints, slot: int, counts: Counts) -> None:
        """Process the slots up to `slot`, missing ones with interpolated counts."""
        if not chosen.size:
            return
        known_at = self._last_slot[chosen]
        if known_at.min() == slot - 1:
            self._process(chosen, slot, counts.arrived[chosen], counts.completed[chosen])
        else:
            self._interpolate(chosen, known_at, slot, counts)
        self._last_slot[chosen] = slot

    def _interpolate(self, chosen: Ints, known_at: Ints, slot: int, counts: Counts) -> None:
        arrived, completed = self._at(self._last_slot)[chosen], self._last_completed[chosen]
        for each in range(int(known_at.min()) + 1, slot + 1):
            due = known_at < each
            share = (each - known_at[due]) / (slot - known_at[due])
            now_arrived = arrived[due] + (counts.arrived[chosen[due]] - arrived[due]) * share
            now_completed = completed[due] + (counts.completed[chosen[due]] - completed[due]) * share
            self._process(chosen[due], each, now_arrived, now_completed)

    def _process(self, chosen: Ints, slot: int, arrived: Floats, completed: Floats) -> None:
        self._arrived[slot % len(self._arrived), chosen] = arrived
        before = self._last_completed[chosen]
        slots_waited = self._slots_waited(chosen, slot, before, completed)
        if slot > self._slot - self._window:
            row = slot % self._window
            self._waited_s[row, chosen] = slots_waited * self._slot_s
            self._completed[row, chosen] = completed - before
        self._last_completed[chosen] = completed

    def _slots_waited(self, chosen: Ints, slot: int, before: Floats, completed: Floats) -> Floats:
        """The sum in the module's docstring, in slots; the oldest waiting record moves on to where it ends."""
        total = np.zeros(chosen.size)
        oldest = self._oldest_slot[chosen]
        open_ = np.flatnonzero(oldest < slot)
        while open_.size:
            arrived = self._arrived[oldest[open_] % len(self._arrived), chosen[open_]]
            beyond = arrived > completed[open_]
            rest, passed = open_[beyond], open_[~beyond]
            total[rest] += (completed[rest] - before[rest]) * (slot - oldest[rest])
            total[passed] += np.maximum(arrived[~beyond] - before[passed], 0.0)
            oldest[passed] += 1
            open_ = passed[oldest[passed] < slot]
        self._oldest_slot[chosen] = oldest
        return total


def _ratio(amount: Floats, base: Floats) -> Floats:
    ratio = np.full(amount.shape, np.nan)
    np.divide(amount, base, out=ratio, where=base > 0)
    return ratio
