"""Load history: the rate at which records enter now, and the highest one to expect while new executors start.

Sudden rises are looked for in the rate alone. A season may also be one of what a record costs.
"""

import math
from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheostat.forecast.models.season import season_of
from rheostat.policies.rheostat.consistent_mean import ConsistentMean, Estimate
from rheostat.policies.rheostat.load_replay import LoadReplay

_REMEMBERED_S = 3600.0
_SILENT_S = 10.0
"""Some plants count records only when a batch reads them: as long as this, no record is no sign of a rate of 0."""

_ALIKE = 1.3
"""Rates up to this factor apart are taken as the same level, and lower ones if there were too few at this level. Costs
up to this factor apart are taken as the same: what is learned of them varies."""

_ENOUGH = 20
"""Turns at a level from which on they say how the load goes on from there."""

_MOST_MOMENTS = 120
"""Of more moments some are left out, evenly."""

_UNSEEN_RISE = 2.0
"""Times its median to which the load may rise, although nothing like that was seen."""

_UNSEEN_S = 30.0
"""The share of moments at which it does so is this time over the time since the load is observed."""

_ERRORS = 3.0
"""Standard errors by which a rate may be wrong."""

_SEASON_EVERY = 8
"""Turns from one search for a season to the next."""

_SHORTEST_SEASON = 15
"""In turns."""

_SEASON_ERROR = 0.15
"""Share of the load by which the season before may be wrong about the last one, in the median and as 90 % quantile
three times as much."""


_LOW = 0.05
"""Share of the moments like the present one after which less entered than the low end of what is expected."""


class Arrivals(NamedTuple):
    """So many records are expected, and between `low` and `high` if enough was seen to tell."""

    records: float
    low: float | None = None
    high: float | None = None


class LoadHistory:
    """Follows the rate at the sources, turn by turn."""

    def __init__(self) -> None:
        self._mean = ConsistentMean()
        self._pending_s = 0.0
        self._past: deque[tuple[float, float, float]] = deque()
        self._counted: deque[tuple[float, float]] = deque()
        self._season = 1
        self._turns = 0
        self._estimate: Estimate | None = None
        self._usual: float | None = None
        self._missing = 0.0
        self.rate: float | None = None

    def add(self, time_s: float, interval_s: float, rate: float | None, cost_s: float | None) -> None:
        """The rate since the turn before, and what a record costs by now in all operators, if that is known. What is
        counted after turns without a record is spread over them."""
        if rate is None or interval_s <= 0:
            return
        if self._past and time_s < self._past[-1][0]:
            self._past.clear()
            self._counted.clear()
            self._usual = None
        self._pending_s += interval_s
        if rate > 0 or self._pending_s > _SILENT_S:
            self._count(time_s, self._pending_s, rate * interval_s)
            self._pending_s = 0.0
        self._estimate = self._mean.estimate(time_s)
        if self._estimate is None:
            return
        self.rate = max(self._estimate.mean, self._estimate.at(time_s))
        self._past.append((time_s, self.rate, self._level_s(cost_s)))
        for remembered in (self._past, self._counted):
            while remembered[0][0] < time_s - _REMEMBERED_S:
                remembered.popleft()
        self._turns += 1
        if self._turns % _SEASON_EVERY == 0:
            self._season = self._found_season()

    def _count(self, time_s: float, interval_s: float, records: float) -> None:
        """Records that were missing in the sample before, and are too many now, came late: a busy machine counts them
        so. Else each time a jump of the load would be seen."""
        if self._usual is not None:
            late = max(0.0, min(self._missing, records - self._usual * interval_s))
            if late > 0:
                self._mean.correct_last(late)
                self._counted[-1] = (self._counted[-1][0], self._counted[-1][1] + late)
                records -= late
        if self._estimate is not None:
            self._usual = self._estimate.mean
            self._missing = self._usual * interval_s - records
        self._mean.add(time_s, interval_s, records)
        self._counted.append((time_s, records + (self._counted[-1][1] if self._counted else 0.0)))

    @property
    def error(self) -> float:
        """The share by which the rate may be wrong by chance."""
        return _ERRORS / math.sqrt(max(1.0, self._estimate.mean * self._estimate.weight)) if self._estimate else 1.0

    def by_trend(self, horizon_s: float) -> float:
        """The rate after `horizon_s` if a rise that there is goes on, but no more than twice the present one."""
        if self._estimate is None or self.rate is None:
            return 0.0
        return min(max(self.rate, self._estimate.at(self._past[-1][0] + horizon_s)), 2 * self.rate)

    def forecast(self, horizon_s: float) -> float | None:
        """The highest rate within `horizon_s`, as it was a season before; None without seasons."""
        if self._season <= 1 or self.rate is None:
            return None
        begin = len(self._past) - self._season - 1
        past = list(self._past)[begin : begin + self._ahead(horizon_s) + 2]
        return max(self.rate, max(rate * cost_s for _, rate, cost_s in past) / self._past[-1][2])

    def expected(self, horizon_s: float) -> Arrivals | None:
        """What enters within `horizon_s`: as a season before, or as after the moments that were like this one, or as
        the trend goes on. None before anything is known."""
        if self.rate is None or not self._counted:
            return None
        if self._season > 1:
            return Arrivals(float(self._entered(np.array([self._past[-self._season - 1][0]]), horizon_s)[0]))
        alike_s = self._moments_like_now(horizon_s)
        if not len(alike_s):
            return Arrivals((self.rate + self.by_trend(horizon_s)) / 2 * horizon_s)
        low, middle, high = np.quantile(self._entered(alike_s, horizon_s), [_LOW, 0.5, 1 - _LOW]).tolist()
        return Arrivals(middle, low, high)

    def _entered(self, since_s: NDArray[np.float64], horizon_s: float) -> NDArray[np.float64]:
        counted_s, arrived = np.array(self._counted).T
        return np.asarray(np.interp(since_s + horizon_s, counted_s, arrived) - np.interp(since_s, counted_s, arrived))

    def replay(self, horizon_s: float) -> LoadReplay | None:
        """What came within `horizon_s` after the moments that were like this one; and a rise that may come, though it
        did not yet, as long as little was seen of the load. None without a load."""
        if not self.rate:
            return None
        counted_s, arrived = np.array(self._counted).T
        alike_s = self._moments_like_now(horizon_s)
        rates = np.array(self._past).T[1]
        supposed = round(_UNSEEN_S / (self._past[-1][0] - self._past[0][0]) * len(alike_s)) if len(alike_s) else 1
        before, after = self.rate * horizon_s, max(_UNSEEN_RISE * np.median(rates), self.rate) * horizon_s
        rise_s = counted_s[0] - horizon_s
        return LoadReplay(
            np.concatenate([[rise_s - horizon_s, rise_s], counted_s]),
            np.concatenate([[-before - after, -after], arrived - arrived[0]]),
            np.concatenate([[rise_s] * supposed, alike_s]),
            self.rate,
            supposed,
        )

    def _level_s(self, cost_s: float | None) -> float:
        """What a record costs, without small changes; 0 before anything is known."""
        before_s = self._past[-1][2] if self._past else 0.0
        if not cost_s or (before_s and 1 / _ALIKE <= cost_s / before_s <= _ALIKE):
            return before_s
        return cost_s

    def _moments_like_now(self, horizon_s: float) -> NDArray[np.float64]:
        """None while there are few of them."""
        times_s, rates, _ = np.array(self._past).T
        known = (times_s <= times_s[-1] - horizon_s) & (times_s >= self._counted[0][0])
        not_above = np.flatnonzero(known & (rates <= _ALIKE * rates[-1]))
        if len(not_above) < _ENOUGH:
            return np.empty(0)
        lowest = min(rates[-1] / _ALIKE, np.partition(rates[not_above], -_ENOUGH)[-_ENOUGH])
        alike = not_above[rates[not_above] >= lowest]
        return np.asarray(times_s[alike[:: math.ceil(len(alike) / _MOST_MOMENTS)]])

    def _ahead(self, horizon_s: float) -> int:
        """In turns."""
        passed_s = self._past[-1][0] - self._past[0][0]
        return max(1, math.ceil(horizon_s * (len(self._past) - 1) / passed_s)) if passed_s > 0 else 1

    def _found_season(self) -> int:
        """In turns; 1 if there is none, or if the season before the last one tells too little about it."""
        work = np.array([rate * cost_s for _, rate, cost_s in self._past])
        season = season_of(work) if len(work) > 2 * _ENOUGH and work.max() > 0 else 1
        if season < _SHORTEST_SEASON or 2 * season > len(work):
            return 1
        errors = np.abs(work[-season:] - work[-2 * season : -season]) / np.maximum(work[-season:], work.mean() / 10)
        is_close = np.median(errors) <= _SEASON_ERROR and np.quantile(errors, 0.9) <= 3 * _SEASON_ERROR
        return season if is_close else 1
