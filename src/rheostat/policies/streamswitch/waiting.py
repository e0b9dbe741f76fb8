"""How long records have waited at least where nothing completes: a latency of which the completed ones know nothing."""

import numpy as np

from rheostat.measure.latency import Counts, Floats


class Waiting:
    """Follows the substreams of one operator from look to look."""

    def __init__(self, substreams: int) -> None:
        self._completed = np.full(substreams, np.nan)
        self._since_s = np.full(substreams, np.nan)

    def update(self, time_s: float, counts: Counts) -> Floats:
        """Seconds since the first look at which a record waited that still waits; 0 where none does. Substreams whose
        counts are not known now go on waiting if they did."""
        known = ~(np.isnan(counts.arrived) | np.isnan(counts.completed))
        waits = known & (counts.arrived > counts.completed)
        stalled = waits & (counts.completed == self._completed)
        self._since_s[known & ~waits] = np.nan
        self._since_s[waits & ~(stalled & ~np.isnan(self._since_s))] = time_s
        self._completed[known] = counts.completed[known]
        return np.where(np.isnan(self._since_s), 0.0, time_s - self._since_s)
