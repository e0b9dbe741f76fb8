"""SLA windows: how often an SLA (L, T) was met, over every window of length T, per substream, from true latencies.

StreamSwitch's evaluation: the success rate is the share of windows whose mean latency is at most L. A window in
which nothing completed is left out, unless a record has waited for longer than L: then it is missed.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheostat.duration import human
from rheostat.errors import ConfigError

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
"""Sums of many latencies are not exact: a mean of L that comes out a hair above it still meets L."""


class WindowedSuccess:
    """Counts the windows of `window_s` that end with each slot of `slot_s`, from the first full one on.

    Its memory does not grow with the run: two numbers for each substream and each slot of one window.
    """

    def __init__(self, latency_s: float, window_s: float, slot_s: float, substreams: int) -> None:
        slots = round(window_s / slot_s) if slot_s > 0 else 0
        if slots < 1 or abs(slots * slot_s - window_s) > _ROUNDING * window_s:
            raise ConfigError(
                f"a window of {human(window_s)} is not a whole number of slots of {human(slot_s)}: "
                "choose a slot that divides it"
            )
        self._latency_s = latency_s
        self._latencies_s = np.zeros((slots, substreams))
        self._completed = np.zeros((slots, substreams))
        self._window_latencies_s = np.zeros(substreams)
        self._window_completed = np.zeros(substreams)
        self._seen_slots = 0
        self._met = np.zeros(substreams, dtype=np.int64)
        self._missed = np.zeros(substreams, dtype=np.int64)

    def add_slot(
        self, latencies_s: ArrayLike, completed: ArrayLike, oldest_waiting_s: ArrayLike | Callable[[], ArrayLike]
    ) -> None:
        """One more slot, per substream: the sum of the latencies of what completed in it, how many completed,
        and how long the oldest waiting record has waited at its end (0 when none waits).

        The latter may be a function, which is called at once, and only if it matters.
        """
        row = self._seen_slots % len(self._completed)
        self._slide(row, np.asarray(latencies_s, float), np.asarray(completed, float))
        self._seen_slots += 1
        if self._seen_slots >= len(self._completed):
            self._judge(oldest_waiting_s)

    def met(self) -> NDArray[np.int64]:
        """Windows that met L, per substream."""
        return self._met.copy()

    def missed(self) -> NDArray[np.int64]:
        """Windows that missed L, per substream."""
        return self._missed.copy()

    def by_substream(self) -> Floats:
        """The success rate of each substream; NaN for one that had no window to judge."""
        judged = self._met + self._missed
        rates = np.full(judged.shape, np.nan)
        np.divide(self._met, judged, out=rates, where=judged > 0)
        return rates

    def mean(self) -> float | None:
        """The mean success rate over the substreams that had a window to judge; None when none had."""
        rates = self.by_substream()
        known = rates[~np.isnan(rates)]
        return float(known.mean()) if known.size else None

    def _slide(self, row: int, latencies_s: Floats, completed: Floats) -> None:
        if row == 0:  # once per window the sums are computed again, so that rounding errors do not accumulate
            self._latencies_s[0], self._completed[0] = latencies_s, completed
            self._window_latencies_s = self._latencies_s.sum(axis=0)
            self._window_completed = self._completed.sum(axis=0)
            return
        self._window_latencies_s += latencies_s - self._latencies_s[row]
        self._window_completed += completed - self._completed[row]
        self._latencies_s[row], self._completed[row] = latencies_s, completed

    def _judge(self, oldest_waiting_s: ArrayLike | Callable[[], ArrayLike]) -> None:
        busy = self._window_completed > 0
        late = self._window_latencies_s > self._latency_s * self._window_completed * (1 + _ROUNDING)
        if not busy.all():
            oldest_s = oldest_waiting_s() if callable(oldest_waiting_s) else oldest_waiting_s
            late = np.where(busy, late, np.asarray(oldest_s, float) > self._latency_s)
        self._missed += late
        self._met += busy & ~late
