"""Substream shares: how the records of a keyed operator spread over its substreams, and over executors."""

from collections import deque
from collections.abc import Sequence
from heapq import heapify, heapreplace

from rheostat.decision import Transfer
from rheostat.snapshot import SubstreamState
from rheostat.substream_assignment import spread_evenly

_WINDOW_S = 20.0


class SubstreamShares:
    """The arrivals of each substream over the last seconds."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, list[int]]] = deque()
        self.loads: tuple[float, ...] = ()
        self._balanced: dict[int, float] = {}

    def update(self, time_s: float, states: Sequence[SubstreamState]) -> None:
        """Add one more turn; nothing is learned from one in which a counter is missing."""
        arrived = [state.arrived for state in sorted(states, key=lambda state: state.index)]
        known = [number for number in arrived if number is not None]
        if not known or len(known) < len(arrived):
            return
        if self._readings and (len(self._readings[-1][1]) != len(known) or known < self._readings[-1][1]):
            self._readings.clear()
        self._readings.append((time_s, known))
        while len(self._readings) > 2 and self._readings[1][0] <= time_s - _WINDOW_S:
            self._readings.popleft()
        first = self._readings[0][1]
        grown = tuple(float(now - before) for now, before in zip(known, first, strict=True))
        if sum(grown) > 0:
            self.loads, self._balanced = grown, {}

    def stretch(self, owners: Sequence[int], size: int) -> float:
        """The records of the busiest executor over the mean of `size` executors."""
        if len(owners) != len(self.loads):
            return 1.0
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
