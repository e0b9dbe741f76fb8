"""Substream shares: how the records of a keyed operator spread over its substreams, and over executors."""

import math
from collections import deque
from collections.abc import Sequence
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

from rheostat.decision import Transfer
from rheostat.snapshot import SubstreamState
from rheostat.substream_assignment import spread_evenly

Floats = NDArray[np.float64]

_FIRST_S = 6.0
"""The first of the times that are looked back over: the next ones are twice, four times, ... as long."""

_LONGEST_S = 400.0
_SIGNIFICANT = 5.5
"""Standard deviations of a normal variable from which on newer and older shares are two different ones: by chance that
happens in none of many hours of turns, and hot keys that change are far above it."""

_ERRORS = 3.0
"""Standard errors by which an executor has to have more than its share: chance is not worth a move."""


class SubstreamShares:
    """The arrivals of each substream over the longest recent time in which their shares did not change."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, Floats]] = deque()
        self.loads: tuple[float, ...] = ()
        self._balanced: dict[int, float] = {}

    def update(self, time_s: float, states: Sequence[SubstreamState]) -> None:
        """Add one more turn; nothing is learned from one in which a counter is missing."""
        arrived = [state.arrived for state in sorted(states, key=lambda state: state.index)]
        known = np.array([number for number in arrived if number is not None], float)
        if not len(known) or len(known) < len(arrived):
            return
        if self._readings and (len(self._readings[-1][1]) != len(known) or (known < self._readings[-1][1]).any()):
            self._readings.clear()
        self._readings.append((time_s, known))
        while len(self._readings) > 2 and self._readings[1][0] <= time_s - _LONGEST_S:
            self._readings.popleft()
        grown = known - self._consistent_since()
        if grown.sum() > 0:
            self.loads, self._balanced = tuple(grown.tolist()), {}

    def _consistent_since(self) -> Floats:
        """The counters at the beginning of that time."""
        (now_s, now), reach_s = self._readings[-1], _FIRST_S
        since: Floats | None = None
        for time_s, counters in reversed(self._readings):
            if time_s > now_s - reach_s and time_s > self._readings[0][0]:
                continue
            if since is not None and _differ(now - since, since - counters):
                break
            since, reach_s = counters, 2 * reach_s
        return self._readings[0][1] if since is None else since

    def is_uneven(self, owners: Sequence[int], size: int) -> bool:
        """Whether the busiest executor has more than the mean by more than chance."""
        each = sum(self.loads) / size
        return self.stretch(owners, size) > 1 + _ERRORS / math.sqrt(max(each, 1.0))

    def stretch(self, owners: Sequence[int], size: int) -> float:
        """The records of the busiest executor over the mean of `size` executors. Owners of which some do not serve yet
        tell nothing: then as if they were spread evenly."""
        if len(owners) != len(self.loads):
            return 1.0
        if len(set(owners)) > size:
            return self.balanced_stretch(size)
        loads: dict[int, float] = {}
        for owner, load in zip(owners, self.loads, strict=True):
            loads[owner] = loads.get(owner, 0.0) + load
        return max(loads.values()) * size / sum(self.loads)

    def balanced_stretch(self, size: int) -> float:
        """The same if substreams are spread evenly over `size` executors, heaviest first."""
        if not self.loads:
            return 1.0
        if size not in self._balanced:
            heap = [0.0] * size
            heapify(heap)
            for load in self._sorted:
                heapreplace(heap, heap[0] + load)
            self._balanced[size] = max(heap) * size / sum(self.loads)
        return self._balanced[size]

    @property
    def _sorted(self) -> list[float]:
        return sorted(self.loads, reverse=True)

    def transfers(self, owners: Sequence[int], executors: Sequence[int]) -> tuple[Transfer, ...]:
        """What to move between `executors` for an even spread."""
        moved: dict[tuple[int, int], list[int]] = {}
        for index, (source, target) in enumerate(
            zip(owners, spread_evenly(owners, executors, self.loads), strict=True)
        ):
            if source != target:
                moved.setdefault((source, target), []).append(index)
        return tuple(Transfer(tuple(indexes), source, target) for (source, target), indexes in moved.items())


def _differ(newer: Floats, older: Floats) -> bool:
    """Whether the shares of the substreams changed by more than chance."""
    both = newer + older
    total, newer_total = both.sum(), newer.sum()
    if not newer_total or newer_total == total:
        return False
    expected = both * (newer_total / total)
    seen = both > 0
    square = (newer[seen] - expected[seen]) ** 2 / (expected[seen] * (1 - newer_total / total))
    return _normal_of_chi_square(float(square.sum()), max(1, int(seen.sum()) - 1)) > _SIGNIFICANT


def _normal_of_chi_square(square: float, freedom: int) -> float:
    """How many standard deviations a chi-square variable is above its mean, by its cube root, which is nearly normal
    (Wilson and Hilferty); the variable itself is far above its mean more often."""
    variance = 2 / (9 * freedom)
    return (math.cbrt(square / freedom) - (1 - variance)) / math.sqrt(variance)
