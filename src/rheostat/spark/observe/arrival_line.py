"""Arrival line: at which rate rows arrive at a query whose source does not tell, from the batches that have read them.

The rate is that of the last seconds, or of a longer time over which rows arrived evenly up to now. A source that hands
over equal lumps, as Spark's `rate` source does once a second, is even although each batch has one lump more or less
than its time: a few seconds would show a rate that is wrong by a lump, the longer time does not. A rise at the end of
the longer time is not evened out.
"""

import math
from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheostat.spark.query.batch_log import BatchRecord

Floats = NDArray[np.float64]

_RATE_OVER_S = 3.0
"""The rate is that of batches that began at least so long ago, and of all since."""

_LONGEST_S = 60.0
_MOST_BATCHES = 64
_FEWEST = 3
"""Batches on a line: two always are."""

_BY_CHANCE = 2.0
"""Square roots of the number of rows by which arrivals may differ from an even line. With more the rate would lag
behind a rise, with less it would follow chance."""


class _Reading(NamedTuple):
    """A batch that began at `started_s` with so many rows, and left others behind."""

    started_s: float
    rows: int
    behind: int = 0


class ArrivalLine:
    """Follows the batches of one run. `rate` is None until two batches are known."""

    def __init__(self) -> None:
        self._finished: deque[_Reading] = deque(maxlen=_MOST_BATCHES)
        self._under_way: _Reading | None = None
        self._ahead = 0.0
        self.rate: float | None = None

    def add(self, batch: BatchRecord) -> None:
        """One more batch: it has read what had arrived when it began, but for what it left behind."""
        self._finished.append(_Reading(batch.started_s, batch.row_count, batch.behind or 0))
        while batch.started_s - self._finished[0].started_s > _LONGEST_S and len(self._finished) > 2:
            self._finished.popleft()
        self._under_way = None
        self._fit()

    def begin(self, started_s: float, rows: int) -> None:
        """The batch under way, behind those that were added, reads so many rows; again if more is known of it."""
        batch = _Reading(started_s, rows)
        if self._finished and started_s > self._finished[-1].started_s and batch != self._under_way:
            self._under_way = batch
            self._fit()

    def since_last(self, time_s: float) -> int:
        """Rows that have arrived by then and that the last finished batch has neither read nor seen; 0 without a
        rate."""
        if not self.rate or time_s <= self._finished[-1].started_s:
            return 0
        known = 0 if self._under_way is None else self._under_way.rows
        return max(0, round(known + self.rate * (time_s - self._batches[-1].started_s) + self._ahead))

    @property
    def longest_s(self) -> float:
        """The longest time from the start of a batch to that of the next, in the last seconds."""
        starts = [batch.started_s for batch in self._batches]
        return max(np.diff(starts[self._first_of_last_seconds() :]), default=0.0)

    @property
    def _batches(self) -> list[_Reading]:
        return [*self._finished, *([] if self._under_way is None else [self._under_way])]

    def _first_of_last_seconds(self) -> int:
        batches = self._batches
        recent_s = batches[-1].started_s - _RATE_OVER_S
        return max((i for i, batch in enumerate(batches) if batch.started_s <= recent_s), default=0)

    def _fit(self) -> None:
        batches = self._batches
        if len(batches) < 2:
            return
        rows, behind = [batch.rows for batch in batches], [batch.behind for batch in batches]
        times_s = np.array([batch.started_s for batch in batches]) - batches[-1].started_s
        arrived = np.cumsum(rows, dtype=np.float64) + behind
        arrived -= arrived[-1]
        first = self._first_of_last_seconds()
        self.rate = max(0.0, arrived[first] / times_s[first]) if times_s[first] < 0 else None
        self._ahead = 0.0
        for start in range(min(first, len(rows) - _FEWEST), -1, -1):
            even = _even_line(times_s[start:], arrived[start:], lump=math.gcd(*rows[start + 1 :]))
            if even is None:
                break
            self.rate, self._ahead = even


def _even_line(times_s: Floats, arrived: Floats, lump: int) -> tuple[float, float] | None:
    """Slope and value at time 0 of the line on which arrivals lie, but for lumps and chance; None if they do not, all
    of them or those since any moment."""
    if times_s[0] == 0:
        return None
    slope, value = np.polyfit(times_s, arrived, 1)
    furthest = np.abs(arrived - (slope * times_s + value)).max()
    since, expected = -arrived, -slope * times_s
    is_by_chance = np.abs(since - expected) <= lump + _BY_CHANCE * np.sqrt(np.maximum(since, expected))
    if slope < 0 or furthest > lump + _BY_CHANCE * math.sqrt(abs(arrived[0])) or not is_by_chance.all():
        return None
    return float(slope), max(-lump, min(lump, float(value)))
