"""Load history: the rate at which records enter now, and how much it rose before within the time of a start."""

from collections import deque

import numpy as np

from rheostat.policies.rheostat.consistent_mean import ConsistentMean

_REMEMBERED_S = 1200.0


class LoadHistory:
    """Follows the rate at the sources.

    Some plants count records only when a batch reads them. What is counted after turns without a record is spread over
    them; only after `_SILENT_S` without any the rate is 0.
    """

    def __init__(self) -> None:
        self._rate = ConsistentMean()
        self._pending_s = 0.0
        self._past: deque[tuple[float, float]] = deque()
        self.rate: float | None = None

    def add(self, time_s: float, interval_s: float, rate: float | None) -> None:
        """The rate since the turn before."""
        if rate is None or interval_s <= 0:
            return
        self._pending_s += interval_s
        if rate > 0 or self._pending_s > _SILENT_S:
            self._rate.add(time_s, self._pending_s, rate * interval_s)
            self._pending_s = 0.0
        self.rate = self._rate.mean(time_s)
        if self.rate is not None:
            self._past.append((time_s, self.rate))
        while self._past and self._past[0][0] < time_s - _REMEMBERED_S:
            self._past.popleft()

    def rise(self, horizon_s: float, share: float) -> float:
        """The factor by which the rate rose at most within `horizon_s`, in this share of the moments seen."""
        if len(self._past) < 2:
            return 1.0
        times, rates = (np.array(column) for column in zip(*self._past, strict=True))
        ends = np.searchsorted(times, times + horizon_s, side="right")
        seen = int(np.searchsorted(times, times[-1] - horizon_s, side="right"))
        if seen < 1:
            return 1.0
        highest = np.array([rates[i : ends[i]].max() for i in range(seen)])
        ratios = highest[rates[:seen] > 0] / rates[:seen][rates[:seen] > 0]
        return float(max(1.0, np.quantile(ratios, share))) if ratios.size else 1.0


_SILENT_S = 10.0
