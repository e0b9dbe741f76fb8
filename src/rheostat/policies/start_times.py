"""Start times: how long executors take from their request until they serve."""

from collections import deque

from rheostat.names import PoolName
from rheostat.snapshot import ExecutorPhase, Snapshot

_COMING = (ExecutorPhase.REQUESTED, ExecutorPhase.STARTING)
_REMEMBERED = 5
_LONGEST_S = 120.0
"""An executor that takes longer waited for room in the cluster, which no forecast can help."""


class StartTimes:
    """The longest of the last few starts, which is how far ahead a forecast must look. Warm standbys do not count."""

    def __init__(self) -> None:
        self._seen_s: float | None = None
        self._since_s: dict[tuple[PoolName, int], float] = {}
        self._took_s: deque[float] = deque(maxlen=_REMEMBERED)

    def update(self, snapshot: Snapshot) -> None:
        """Add one more turn. Executors that are there in the first snapshot do not count."""
        for executor in snapshot.executors:
            name = executor.pool, executor.id
            if executor.id < 0:
                continue
            if executor.phase in _COMING and self._seen_s is not None:
                self._since_s.setdefault(name, self._seen_s)
            elif executor.phase is ExecutorPhase.ACTIVE and name in self._since_s:
                self._came(snapshot.time_s - self._since_s.pop(name))
        present = {(executor.pool, executor.id) for executor in snapshot.executors}
        self._since_s = {name: since_s for name, since_s in self._since_s.items() if name in present}
        self._seen_s = snapshot.time_s

    @property
    def longest_s(self) -> float:
        """0 before the first start."""
        return max(self._took_s, default=0.0)

    def under_way_s(self, pool: PoolName) -> float:
        """How long the executors of `pool` that start now have been starting, on average; 0 if there are none."""
        since_s = [since_s for (name, _), since_s in self._since_s.items() if name == pool]
        return (self._seen_s or 0.0) - sum(since_s) / len(since_s) if since_s else 0.0

    def _came(self, after_s: float) -> None:
        if after_s <= _LONGEST_S:
            self._took_s.append(after_s)
