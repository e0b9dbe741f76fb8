"""OSG's side of an executor: it learns the cost of values and sends what it learned once that is stable (fig. 7b)."""

from enum import Enum

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigError
from rheostat.grouping.costs import CostSketch
from rheostat.grouping.countmin import Floats
from rheostat.grouping.grouping import Values
from rheostat.grouping.hashes import Hashes
from rheostat.grouping.osg.messages import SyncReply, SyncRequest

WINDOW = 1024
"""N: records between two looks at the sketches. The paper does not give it."""
TOLERANCE = 0.05
"""μ: the relative change up to which sketches are stable. The paper does not give it."""


class TaskState(Enum):
    START = "start"
    STABILIZING = "stabilizing"


class Task:
    """One executor. All tasks of an operator have the same `hashes`.

    `cumulated_s` is the time that the records of each scheduler took. Were it one for all, every scheduler would make
    up for what the others sent: three would move three times as much as is missing, and loads would swing ever wider.
    """

    def __init__(self, hashes: Hashes, window: int = WINDOW, tolerance: float = TOLERANCE) -> None:
        if window < 1:
            raise ConfigError(f"OSG window {window!r} must be a whole number of records >= 1")
        if not tolerance >= 0:
            raise ConfigError(f"OSG tolerance {tolerance!r} must be a number >= 0")
        self.state = TaskState.START
        self.cumulated_s: dict[int, float] = {}
        self._hashes, self._window, self._tolerance = hashes, window, tolerance
        self._sketch = CostSketch(hashes)
        self._snapshot: Floats | None = None
        self._since_look = 0

    def completed(self, values: Values, seconds: npt.ArrayLike, scheduler: int = 0) -> list[CostSketch]:
        """Records of `scheduler` were processed in this order; returns the sketches for all of them, mostly none."""
        times_s = np.broadcast_to(np.asarray(seconds, dtype=float), np.shape(values))
        self.cumulated_s[scheduler] = self.cumulated_s.get(scheduler, 0.0) + float(times_s.sum())
        sent: list[CostSketch] = []
        start = 0
        while start < len(values):
            end = min(len(values), start + self._window - self._since_look)
            self._learn(values[start:end], times_s[start:end])
            if self._since_look == self._window:
                sent += self._look()
            start = end
        return sent

    def reply(self, request: SyncRequest) -> SyncReply:
        """To be asked when the record that `request` came with has been completed, and no later one."""
        done_s = self.cumulated_s.get(request.scheduler, 0.0)
        return SyncReply(request.task, request.epoch, done_s - request.estimate_s)

    def forget_time(self) -> None:
        """Count time from zero: the number of tasks has changed, and a new one must not look idle for ever."""
        self.cumulated_s = {}

    def _learn(self, values: Values, times_s: Floats) -> None:
        self._sketch.learn(values, times_s)
        self._since_look += len(values)

    def _look(self) -> list[CostSketch]:
        """Every N records: take a first snapshot; then send if little has changed since, or take another."""
        self._since_look = 0
        quotients = self._sketch.quotients()
        if self._snapshot is None or relative_change(self._snapshot, quotients) > self._tolerance:
            self._snapshot, self.state = quotients, TaskState.STABILIZING
            return []
        stable, self._sketch = self._sketch, CostSketch(self._hashes)
        self._snapshot, self.state = None, TaskState.START
        return [stable]


def relative_change(snapshot: Floats, quotients: Floats) -> float:
    """η of eq. 14, over the cells in which something had been counted when the snapshot was taken."""
    known = ~np.isnan(snapshot)
    before, after = snapshot[known], quotients[known]
    moved, total = float(np.abs(before - after).sum()), float(before.sum())
    return moved / total if total > 0 else float(moved > 0)
