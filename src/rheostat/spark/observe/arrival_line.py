"""Arrival line: at which rate rows arrive at a query whose source does not tell, from the batches that have read them.

The rate is that of the last seconds, or of a longer time over which rows arrived evenly. A source that hands over equal
lumps, as Spark's `rate` source does once a second, is even although each batch has one lump more or less than its time:
a few seconds would show a rate that is wrong by a lump, the longer time does not.
"""

import math
from collections import deque

import numpy as np
from numpy.typing import NDArray

from rheostat.spark.query.batch_log import BatchRecord

Floats = NDArray[np.float64]

_RATE_OVER_S = 5.0
"""The rate is that of batches that began at least so long ago, and of all since."""

_LONGEST_S = 60.0
_MOST_BATCHES = 64
_FEWEST = 3
"""Batches on a line: two always are."""

_BY_CHANCE = 2.0
"""Square roots of the number of rows by which arrivals may differ from an even line by chance."""


class ArrivalLine:
    """Follows the batches of one run. `rate` is None until two batches are known."""

    def __init__(self) -> None:
        self._batches: deque[BatchRecord] = deque(maxlen=_MOST_BATCHES)
        self._ahead = 0.0
        self.rate: float | None = None

    def add(self, batch: BatchRecord) -> None:
        """One more batch: it has read what had arrived when it began, but for what it left behind."""
        self._batches.append(batch)
        while batch.started_s - self._batches[0].started_s > _LONGEST_S and len(self._batches) > 2:
            self._batches.popleft()
        if len(self._batches) > 1:
            self._fit()

    def since_last(self, time_s: float) -> int:
        """Rows that have arrived by then and that the last batch has neither read nor seen; 0 without a rate."""
        since_s = max(0.0, time_s - self._batches[-1].started_s) if self._batches else 0.0
        return max(0, round(self.rate * since_s + self._ahead)) if self.rate and since_s else 0

    @property
    def longest_s(self) -> float:
        """The longest time from the start of a batch to that of the next, in the last seconds."""
        starts = [batch.started_s for batch in self._batches]
        return max(np.diff(starts[self._first_of_last_seconds() :]), default=0.0)

    def _first_of_last_seconds(self) -> int:
        last_s = self._batches[-1].started_s
        return max((i for i, batch in enumerate(self._batches) if batch.started_s <= last_s - _RATE_OVER_S), default=0)

    def _fit(self) -> None:
        rows = [batch.row_count for batch in self._batches]
        behind = [batch.behind or 0 for batch in self._batches]
        times_s = np.array([batch.started_s for batch in self._batches]) - self._batches[-1].started_s
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
    """Slope and value at time 0 of the line on which arrivals lie, but for lumps and chance; None if they do not."""
    if times_s[0] == 0:
        return None
    slope, value = np.polyfit(times_s, arrived, 1)
    furthest = np.abs(arrived - (slope * times_s + value)).max()
    if slope < 0 or furthest > lump + _BY_CHANCE * math.sqrt(abs(arrived[0])):
        return None
    return float(slope), float(value)
