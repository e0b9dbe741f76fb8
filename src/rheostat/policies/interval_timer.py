"""Interval timer: true once per interval, however often it is asked."""

import math

_EARLY = 0.1
"""The share of the time between two calls by which a call may be early and still count."""


class IntervalTimer:
    """Due every `every_s` seconds after the first call, without drift; missed intervals are skipped.

    The turns of a loop are never exactly a period apart. If a call that is a millisecond early did not count, a loop
    with one turn per interval would miss half of them.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._start_s: float | None = None
        self._called_s = 0.0
        self._intervals = 0

    def due(self, time_s: float) -> bool:
        if self._start_s is None:
            self._start_s = self._called_s = time_s
        early_s = _EARLY * min(time_s - self._called_s, self._every_s)
        intervals = math.floor((time_s + early_s - self._start_s) / self._every_s + 1e-9)
        due, self._intervals, self._called_s = intervals > self._intervals, max(intervals, self._intervals), time_s
        return due
