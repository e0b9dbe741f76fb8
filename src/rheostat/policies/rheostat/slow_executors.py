"""Slow executors: those whose records take much longer than those of the others in the pool."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from rheostat.snapshot import ExecutorState

_SLOW = 1.5
"""Times the others' service time."""

_ERRORS = 3.0
"""Standard errors by which it has to be slower than `_SLOW`, with service times that vary as exponential ones do."""

_COLD_S = 30.0
"""The first readings of an executor do not count: it is slow for a while when it has started, for longer on a machine
where others start too."""

_READINGS = 4
"""The last readings of an executor are compared, so that it is seen when it becomes slow."""

_LEAST_READINGS, _LEAST_RECORDS = 2, 20


@dataclass(slots=True)
class _Done:
    since_s: float
    completed: int
    busy_s: float
    recent: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_READINGS))

    def update(self, time_s: float, completed: int, busy_s: float) -> None:
        if completed > self.completed:
            if time_s - self.since_s >= _COLD_S:
                self.recent.append((completed - self.completed, busy_s - self.busy_s))
            self.completed, self.busy_s = completed, busy_s

    @property
    def records(self) -> int:
        return sum(records for records, _ in self.recent)

    @property
    def record_s(self) -> float:
        return sum(work_s for _, work_s in self.recent) / self.records

    @property
    def is_known(self) -> bool:
        return self.records >= _LEAST_RECORDS and len(self.recent) >= _LEAST_READINGS


class SlowExecutors:
    """Follows the executors of one pool."""

    def __init__(self) -> None:
        self._done: dict[int, _Done] = {}

    def update(self, time_s: float, executors: Sequence[ExecutorState]) -> None:
        """Add what each did since the turn before."""
        known = self._done
        self._done = {}
        for state in executors:
            if state.completed is None or state.busy_s is None:
                continue
            done = known.get(state.id)
            if done is None or state.completed < done.completed or state.busy_s < done.busy_s:
                done = _Done(time_s, state.completed, state.busy_s)
            done.update(time_s, state.completed, state.busy_s)
            self._done[state.id] = done

    def slowest(self) -> tuple[int, float] | None:
        """The slowest executor and how many times as long as the others it takes; None if none is slow for sure."""
        times_s = {e: done.record_s for e, done in self._done.items() if done.is_known}
        if len(times_s) < 2:
            return None
        slowest = max(times_s, key=times_s.__getitem__)
        others_s = median(time_s for executor, time_s in times_s.items() if executor != slowest)
        if others_s <= 0:
            return None
        factor, error = times_s[slowest] / others_s, math.sqrt(1 / self._done[slowest].records)
        return (slowest, factor) if factor * (1 - _ERRORS * error) > _SLOW else None
