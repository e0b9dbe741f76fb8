"""OSG task, the executor's side: it learns costs by value and sends its sketches once they are stable (fig. 7b)."""

from enum import Enum

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigError
from rheostat.grouping.costs import CostSketch
from rheostat.grouping.countmin import Floats
from rheostat.grouping.grouping import Values
from rheostat.grouping.hashes import Hashes
from rheostat.grouping.osg.messages import SyncReply, SyncRequest

WINDOW = 128
"""N: records between two checks of the sketches. The paper does not give it. With 1,024 an executor that becomes slower
is noticed after minutes at 30 records/s."""
TOLERANCE = 0.05
"""μ: the relative change up to which sketches are stable. The paper does not give it."""


class TaskState(Enum):
    START = "start"
    STABILIZING = "stabilizing"


class OsgTask:
    """One executor. All tasks of an operator have the same `hashes`.

    `cumulated_s` is the time of the records of each scheduler. With one sum for all, every scheduler would correct for
    what the others sent: three would move three times too much, and loads would oscillate with growing amplitude.
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
        """Records of `scheduler` were processed in this order; returns the sketches to send to all, mostly none."""
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
        """The reply to `request`, to be called right after the record that it came with was completed."""
        done_s = self.cumulated_s.get(request.scheduler, 0.0)
        return SyncReply(request.task, request.epoch, done_s - request.estimate_s)

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
    """η of eq. 14, over the cells that were not empty when the snapshot was taken."""
    known = ~np.isnan(snapshot)
    before, after = snapshot[known], quotients[known]
    moved, total = float(np.abs(before - after).sum()), float(before.sum())
    return moved / total if total > 0 else float(moved > 0)
