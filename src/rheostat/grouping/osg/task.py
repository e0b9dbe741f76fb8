"""OSG task, the executor's side: it learns costs by value and sends its sketches once they are stable (fig. 7b).

Beside the paper's rule it compares the time of its records with what its last sketches would have said. Where that
shows another speed, it sends these sketches again, scaled to the new speed, and learns anew: what it has learned so far
is a mixture of both speeds, which takes long to become stable.
"""

import math
from enum import Enum

import numpy as np
import numpy.typing as npt

from rheostat.errors import ConfigError
from rheostat.grouping.costs import CostSketch
from rheostat.grouping.countmin import Floats
from rheostat.grouping.grouping import Values
from rheostat.grouping.hashes import Hashes
from rheostat.grouping.osg.messages import SyncReply, SyncRequest

WINDOW_S = 1.0
"""The time between two looks at the sketches, so that OSG adapts as fast at any rate. The paper has N records instead,
and does not give N."""
LEAST = 32
"""Records that a look needs at least: fewer tell nothing."""
TOLERANCE = 0.05
"""μ: the relative change up to which sketches are stable. The paper does not give it."""
STANDARD_ERRORS = 3.0
"""By so many standard errors the time of the records since the last look must be off to show another speed."""


class TaskState(Enum):
    START = "start"
    STABILIZING = "stabilizing"


class OsgTask:
    """One executor. All tasks of an operator have the same `hashes`. It looks at its sketches every `window_s`, if it
    has processed `least` records since; with `window_s` 0 every `least` records, as in the paper.

    `cumulated_s` is the time of the records of each scheduler. With one sum for all, every scheduler would correct for
    what the others sent: three would move three times too much, and loads would oscillate with growing amplitude.
    """

    def __init__(
        self, hashes: Hashes, window_s: float = WINDOW_S, least: int = LEAST, tolerance: float = TOLERANCE
    ) -> None:
        if not window_s >= 0:
            raise ConfigError(f"OSG window {window_s!r} must be a time >= 0")
        if least < 1:
            raise ConfigError(f"OSG least {least!r} must be a whole number of records >= 1")
        if not tolerance >= 0:
            raise ConfigError(f"OSG tolerance {tolerance!r} must be a number >= 0")
        self.state = TaskState.START
        self.cumulated_s: dict[int, float] = {}
        self._hashes, self._window_s, self._least, self._tolerance = hashes, window_s, least, tolerance
        self._sketch = CostSketch(hashes)
        self._snapshot: Floats | None = None
        self._sent: CostSketch | None = None
        self._look_s = 0.0
        self._since_look = _Deviation()

    def completed(
        self, values: Values, seconds: npt.ArrayLike, scheduler: int = 0, now_s: float = 0.0
    ) -> list[CostSketch]:
        """Records of `scheduler` were processed in this order; returns the sketches to send to all, mostly none."""
        times_s = np.broadcast_to(np.asarray(seconds, dtype=float), np.shape(values))
        self.cumulated_s[scheduler] = self.cumulated_s.get(scheduler, 0.0) + float(times_s.sum())
        sent: list[CostSketch] = []
        start = 0
        while start < len(values):
            end = min(len(values), start + max(1, self._least - self._since_look.records))
            self._learn(values[start:end], times_s[start:end])
            if self._since_look.records >= self._least and now_s - self._look_s >= self._window_s:
                sent += self._look(now_s)
            start = end
        return sent

    def reply(self, request: SyncRequest) -> SyncReply:
        """The reply to `request`, to be called right after the record that it came with was completed."""
        done_s = self.cumulated_s.get(request.scheduler, 0.0)
        return SyncReply(request.task, request.epoch, done_s - request.estimate_s)

    def _learn(self, values: Values, times_s: Floats) -> None:
        self._sketch.learn(values, times_s)
        self._since_look.add(times_s, times_s if self._sent is None else self._sent.seconds(values))

    def _look(self, now_s: float) -> list[CostSketch]:
        """Send the last sketches at another speed; else, if little has changed since the snapshot, the present ones."""
        deviation, self._since_look, self._look_s = self._since_look, _Deviation(), now_s
        if self._sent is not None and deviation.shows_another_speed(self._tolerance):
            return [self._send(self._sent.scaled(deviation.time_ratio))]
        quotients = self._sketch.quotients()
        if self._snapshot is None or relative_change(self._snapshot, quotients) > self._tolerance:
            self._snapshot, self.state = quotients, TaskState.STABILIZING
            return []
        return [self._send(self._sketch)]

    def _send(self, sketch: CostSketch) -> CostSketch:
        self._sent, self._sketch = sketch, CostSketch(self._hashes)
        self._snapshot, self.state = None, TaskState.START
        return sketch


class _Deviation:
    """The time of the records since the last look, and what the sketches sent last would have said."""

    def __init__(self) -> None:
        self.records = 0
        self._expected_s = self._excess_s = self._squares = 0.0

    def add(self, times_s: Floats, expected_s: Floats) -> None:
        excess_s = times_s - expected_s
        self.records += len(times_s)
        self._expected_s += float(expected_s.sum())
        self._excess_s += float(excess_s.sum())
        self._squares += float(excess_s @ excess_s)

    @property
    def time_ratio(self) -> float:
        return 1.0 + self._excess_s / self._expected_s if self._expected_s > 0 else 1.0

    def shows_another_speed(self, tolerance: float) -> bool:
        """Whether the sum differs by more than the tolerance and by more than chance."""
        is_large = abs(self._excess_s) > tolerance * self._expected_s
        return is_large and abs(self._excess_s) > STANDARD_ERRORS * math.sqrt(self._squares)


def relative_change(snapshot: Floats, quotients: Floats) -> float:
    """η of eq. 14, over the cells that were not empty when the snapshot was taken."""
    known = ~np.isnan(snapshot)
    before, after = snapshot[known], quotients[known]
    moved, total = float(np.abs(before - after).sum()), float(before.sum())
    return moved / total if total > 0 else float(moved > 0)
