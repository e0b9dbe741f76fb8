"""Start times: how long executors take from their request until they serve."""

from collections import deque

import numpy as np

from rheostat.names import PoolName
from rheostat.snapshot import ExecutorPhase, Snapshot

_COMING = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING)
_REMEMBERED = 20
_RECENT = 5
"""The last ones, which say how long a start takes; what starts at once cost needs more of them to be seen."""

_LONGEST_S = 120.0
"""An executor that takes longer waited for room in the cluster, which no forecast can help."""

_DISTURBING_S = 20.0
"""Executors of one pool that start disturb the work of others for no longer: later it is slow for another reason."""

_ASSUMED_CROWDING_S, _ASSUMED_AS = 0.3, 2.0
"""What is assumed of executors that start at once, and how far they have to differ in number, squared and summed, for
what was seen to count as much."""


class StartTimes:
    """The last few starts of executors. Warm standbys do not count.

    On nodes with few cores, executors that start at once slow each other down: each takes `crowding_s` longer for every
    other one.
    """

    def __init__(self) -> None:
        self._seen_s: float | None = None
        self._since_s: dict[tuple[PoolName, int], float] = {}
        self._others: dict[tuple[PoolName, int], int] = {}
        self._pool_since_s: dict[PoolName, float] = {}
        self._took: deque[tuple[int, float]] = deque(maxlen=_REMEMBERED)

    def update(self, snapshot: Snapshot) -> None:
        """Add one more turn. Executors that are there in the first snapshot do not count."""
        for executor in snapshot.executors:
            name = executor.pool, executor.id
            if executor.id < 0:
                continue
            if executor.phase in _COMING and self._seen_s is not None:
                self._since_s.setdefault(name, self._seen_s)
            elif executor.phase is ExecutorPhase.ACTIVE and name in self._since_s:
                self._came(self._others[name], snapshot.time_s - self._since_s.pop(name))
        present = {(executor.pool, executor.id) for executor in snapshot.executors}
        self._since_s = {name: since_s for name, since_s in self._since_s.items() if name in present}
        at_once = len(self._since_s) - 1
        self._others = {name: max(at_once, self._others.get(name, 0)) for name in self._since_s}
        pools = {pool for pool, _ in self._since_s}
        self._pool_since_s = {pool: self._pool_since_s.get(pool, snapshot.time_s) for pool in pools}
        self._seen_s = snapshot.time_s

    @property
    def longest_s(self) -> float:
        """The longest, which is how far ahead a forecast must look; 0 before the first."""
        return max((took_s for _, took_s in self._recent), default=0.0)

    @property
    def alone_s(self) -> float:
        """The longest as it would be of an executor that starts alone; 0 before the first."""
        crowding_s = self.crowding_s
        return max((max(0.0, took_s - crowding_s * others) for others, took_s in self._recent), default=0.0)

    @property
    def crowding_s(self) -> float:
        """By the slope of the times over the number of others, as far as these have differed."""
        if not self._took:
            return _ASSUMED_CROWDING_S
        others, took_s = np.array(self._took, dtype=np.float64).T
        apart = others - others.mean()
        slope_s = apart @ took_s + _ASSUMED_AS * _ASSUMED_CROWDING_S
        return max(0.0, float(slope_s / (apart @ apart + _ASSUMED_AS)))

    def under_way_s(self, pool: PoolName) -> float:
        """How long the executors of `pool` that start now have been starting, on average; 0 if there are none."""
        since_s = [since_s for (name, _), since_s in self._since_s.items() if name == pool]
        return (self._seen_s or 0.0) - sum(since_s) / len(since_s) if since_s else 0.0

    def disturb(self, pool: PoolName) -> bool:
        """Whether executors of other pools may slow down the work of `pool`: they have begun to start."""
        return any(
            (self._seen_s or 0.0) - since_s < _DISTURBING_S
            for name, since_s in self._pool_since_s.items()
            if name != pool
        )

    @property
    def _recent(self) -> list[tuple[int, float]]:
        return list(self._took)[-_RECENT:]

    def _came(self, others: int, after_s: float) -> None:
        if after_s <= _LONGEST_S:
            self._took.append((others, after_s))
