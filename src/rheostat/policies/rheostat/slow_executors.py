"""Slow executors: those whose records take much longer than those of the others in the pool."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rheostat.snapshot import ExecutorState

_SLOW = 1.5
"""Times the others' service time."""

_ERRORS = 3.0
"""Standard errors by which it has to be slower than `_SLOW`, with service times that vary as exponential ones do."""

_KEPT = 0.7
"""The weight of what an executor did before when it has done more."""

_LEAST_RECORDS = 20.0
_LEAST_READINGS = 4
"""Readings of an executor before it is compared: while one starts, it and those beside it are slow for a while."""


@dataclass(slots=True)
class _Done:
    completed: int
    busy_s: float
    records: float = 0.0
    work_s: float = 0.0
    readings: int = 0

    @property
    def is_known(self) -> bool:
        return self.records >= _LEAST_RECORDS and self.readings >= _LEAST_READINGS


class SlowExecutors:
    """Follows the executors of one pool."""

    def __init__(self) -> None:
        self._done: dict[int, _Done] = {}

    def update(self, executors: Sequence[ExecutorState]) -> None:
        """Add what each did since the turn before."""
        known = self._done
        self._done = {}
        for state in executors:
            if state.completed is None or state.busy_s is None:
                continue
            done = known.get(state.id)
            if done is None or state.completed < done.completed or state.busy_s < done.busy_s:
                done = _Done(state.completed, state.busy_s)
            elif state.completed > done.completed:
                records, work_s = state.completed - done.completed, state.busy_s - done.busy_s
                done = _Done(
                    state.completed,
                    state.busy_s,
                    _KEPT * done.records + records,
                    _KEPT * done.work_s + work_s,
                    done.readings + 1,
                )
            self._done[state.id] = done

    def slowest(self) -> tuple[int, float] | None:
        """The slowest executor and how many times as long as the others it takes; None if none is slow for sure."""
        times_s = {e: done.work_s / done.records for e, done in self._done.items() if done.is_known}
        if len(times_s) < 2:
            return None
        slowest = max(times_s, key=times_s.__getitem__)
        others_s = median(time_s for executor, time_s in times_s.items() if executor != slowest)
        if others_s <= 0:
            return None
        factor, error = times_s[slowest] / others_s, math.sqrt(1 / self._done[slowest].records)
        return (slowest, factor) if factor * (1 - _ERRORS * error) > _SLOW else None
