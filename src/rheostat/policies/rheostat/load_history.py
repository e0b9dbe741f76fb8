"""Load history: the rate at which records enter now, and the highest one to expect while new executors start.

The load rises with the rate and with what a record costs. So both count where rises and seasons are looked for: a
record of another time counts as many times as it cost the work of one now.
"""

import math
from collections import deque
from itertools import pairwise, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheostat.forecast.models.season import season_of
from rheostat.policies.rheostat.consistent_mean import ConsistentMean, Estimate
from rheostat.policies.rheostat.load_replay import LoadReplay

_REMEMBERED_S = 3600.0
_LEVEL_OVER_S = 180.0
"""The median rate over so long is the level around which the load varies."""

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
"""Times its median, or its present rate if that is lower, to which the load may rise, although nothing like that was
seen."""

_UNSEEN_S = 25.0
"""The share of moments at which it does so is this time over the time since the load is observed."""

_ERRORS = 3.0
"""Standard errors by which a rate may be wrong."""

_STEEPEST = 3.0
"""Times the present rate to which a trend may lead."""

_LEAST_RISE = 0.05
"""Share of the rate by which a trend has to raise the mean of the time after it to be judged by what came."""

_SUPPOSED_RISES = 3.0
"""Before anything is known: as if trends had foretold rises of this many times the rate in all, and they had come."""

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


class _Moment(NamedTuple):
    """The rate, its trend, its usual level by then, and what a record costs in all operators; 0 while unknown."""

    time_s: float
    rate: float
    trend: float
    level: float
    cost_s: float

    @property
    def work(self) -> float:
        """Seconds of work a second."""
        return self.rate * self.cost_s


class _Counted(NamedTuple):
    """Records that have entered until then, and their work."""

    time_s: float
    records: float
    work_s: float

    def plus(self, records: float, cost_s: float) -> "_Counted":
        return _Counted(self.time_s, self.records + records, self.work_s + records * cost_s)


class LoadHistory:
    """Follows the rate at the sources, turn by turn."""

    def __init__(self) -> None:
        self._mean = ConsistentMean()
        self._pending_s = 0.0
        self._until_s: float | None = None
        self._past: deque[_Moment] = deque()
        self._counted: deque[_Counted] = deque()
        self._cost_s = 0.0
        self._was_dearer = False
        self._season = 1
        self._turns = 0
        self._estimate: Estimate | None = None
        self._usual: float | None = None
        self._missing = 0.0
        self.rate: float | None = None

    def add(self, time_s: float, interval_s: float, rate: float | None, until_s: float | None = None) -> None:
        """The rate since the turn before, of records that came until `until_s`: now if None. What is counted after
        turns without a record is spread over them; a rate that says nothing new since the turn before counts once."""
        if rate is None or interval_s <= 0:
            return
        if self._past and time_s < self._past[-1].time_s:
            self._begin_anew()
        new_s = interval_s if until_s is None or self._until_s is None else until_s - self._until_s
        self._until_s = until_s
        if new_s > 0:
            self._pending_s += new_s
            if rate > 0 or self._pending_s > _SILENT_S:
                self._count(time_s if until_s is None else until_s, self._pending_s, rate * new_s)
                self._pending_s = 0.0
        self._estimate = self._mean.estimate(time_s)
        if self._estimate is None:
            return
        self.rate = max(self._estimate.mean, self._estimate.at(time_s))
        level = self._level(time_s, self.rate)
        self._past.append(_Moment(time_s, self.rate, self._estimate.trend, level, self._cost_s))
        for remembered in (self._past, self._counted):
            while remembered[0].time_s < time_s - _REMEMBERED_S:
                remembered.popleft()
        self._turns += 1
        if self._turns % _SEASON_EVERY == 0:
            self._season = self._found_season()

    def _begin_anew(self) -> None:
        """The clock was set back: nothing that was seen is at a known time any more."""
        self._mean = ConsistentMean()
        self._past.clear()
        self._counted.clear()
        self._pending_s, self._season = 0.0, 1
        self._until_s = self._usual = self._estimate = self.rate = None

    def _level(self, time_s: float, rate: float) -> float:
        """The rate around which the load varies, when it is `rate` now."""
        recent = takewhile(lambda each: each.time_s > time_s - _LEVEL_OVER_S, reversed(self._past))
        return float(np.median([rate, *(each.rate for each in recent)]))

    def costs_now(self, cost_s: float | None) -> None:
        """What a record costs by now in all operators, if that is known: a forecast is in records that cost as much."""
        self._follow_cost(cost_s)
        if self._past:
            self._past[-1] = self._past[-1]._replace(cost_s=self._cost_s)

    def _count(self, time_s: float, interval_s: float, records: float) -> None:
        """Records that were missing in the sample before, and are too many now, came late: a busy machine counts them
        so. Else each time a jump of the load would be seen."""
        if self._usual is not None:
            late = max(0.0, min(self._missing, records - self._usual * interval_s))
            if late > 0:
                self._mean.correct_last(late)
                self._counted[-1] = self._counted[-1].plus(late, self._cost_s)
                records -= late
        if self._estimate is not None:
            self._usual = self._estimate.mean
            self._missing = self._usual * interval_s - records
        self._mean.add(time_s, interval_s, records)
        before = self._counted[-1] if self._counted else _Counted(time_s, 0.0, 0.0)
        self._counted.append(before.plus(records, self._cost_s)._replace(time_s=time_s))

    def _follow_cost(self, cost_s: float | None) -> None:
        """Follow what a record costs, without small changes. What it seemed to cost before that is known well is taken
        back: until it costs more for the first time, it is learned (executors that are new are slow)."""
        before_s = self._cost_s
        if not cost_s or (before_s and 1 / _ALIKE <= cost_s / before_s <= _ALIKE):
            return
        self._cost_s = cost_s
        if cost_s > before_s > 0:
            self._was_dearer = True
        elif not self._was_dearer:
            self._past = deque(each._replace(cost_s=cost_s) for each in self._past)
            self._counted = deque(each._replace(work_s=each.records * cost_s) for each in self._counted)

    @property
    def error(self) -> float:
        """The share by which the rate may be wrong by chance."""
        return _ERRORS / math.sqrt(max(1.0, self._estimate.mean * self._estimate.weight)) if self._estimate else 1.0

    def by_trend(self, horizon_s: float) -> float:
        """The rate after `horizon_s` if a rise that there is goes on as far as rises did before, but no more than three
        times the present one."""
        if self._estimate is None or self.rate is None:
            return 0.0
        risen = min(self._estimate.at(self._past[-1].time_s + horizon_s), _STEEPEST * self.rate)
        return self.rate + (risen - self.rate) * self._share_that_came(horizon_s) if risen > self.rate else self.rate

    def _share_that_came(self, horizon_s: float) -> float:
        """Of the rises that trends foretold for the `horizon_s` after them: of a load that is erratic few come."""
        times_s, rates, trends = np.array([(each.time_s, each.rate, each.trend) for each in self._past]).T
        foretold = np.minimum(trends * horizon_s, (_STEEPEST - 1) * rates) / 2
        is_over = (times_s <= self._counted[-1].time_s - horizon_s) & (times_s >= self._counted[0].time_s)
        risen = np.flatnonzero(is_over & (foretold > _LEAST_RISE * rates))
        came = self._entered(times_s[risen], horizon_s) / horizon_s - rates[risen]
        share = (_SUPPOSED_RISES + np.sum(came / rates[risen])) / (
            _SUPPOSED_RISES + np.sum(foretold[risen] / rates[risen])
        )
        return float(np.clip(share, 0.0, 1.0))

    @property
    def has_season(self) -> bool:
        """Whether the load recurs, so that there is a forecast."""
        return self._season > 1

    def forecast(self, horizon_s: float) -> float | None:
        """The highest rate within `horizon_s`, as it was a season before; None without seasons."""
        if self._season <= 1 or self.rate is None:
            return None
        begin = len(self._past) - self._season - 1
        past = list(self._past)[begin : begin + self._ahead(horizon_s) + 2]
        return max(self.rate, max(each.work for each in past) / self._past[-1].cost_s)

    def expected(self, horizon_s: float) -> Arrivals | None:
        """What enters within `horizon_s`: as a season before, or as after the moments that were like this one, or as
        the trend goes on. None before anything is known."""
        if self.rate is None or not self._counted:
            return None
        if self._season > 1:
            return Arrivals(float(self._entered(np.array([self._past[-self._season - 1].time_s]), horizon_s)[0]))
        alike_s = self._moments_like_now([each.rate for each in self._past], horizon_s)
        if not len(alike_s):
            return Arrivals((self.rate + self.by_trend(horizon_s)) / 2 * horizon_s)
        low, middle, high = np.quantile(self._entered(alike_s, horizon_s), [_LOW, 0.5, 1 - _LOW]).tolist()
        return Arrivals(middle, low, high)

    def _entered(self, since_s: NDArray[np.float64], horizon_s: float) -> NDArray[np.float64]:
        counted_s, arrived, _ = np.array(self._counted).T
        return np.asarray(np.interp(since_s + horizon_s, counted_s, arrived) - np.interp(since_s, counted_s, arrived))

    def replays(self, horizon_s: float) -> tuple[LoadReplay, ...]:
        """What came within `horizon_s` after the moments that were like this one, with the records counted alike;
        again with their work if they ever came to cost more; and again with as many more records as there are by now if
        the load has risen. None without a load."""
        if not self.rate:
            return ()
        replays = [self._replay_of_rates(self.rate, horizon_s)]
        if any(later.cost_s > before.cost_s for before, later in pairwise(self._past)):
            replays.append(self._replay_of_work(self.rate, horizon_s))
        if self._past[-1].level > _ALIKE * min(each.level for each in self._past) > 0:
            replays.append(self._replay_at_level(self.rate, horizon_s))
        return tuple(replays)

    def _replay_of_rates(self, rate: float, horizon_s: float) -> LoadReplay:
        """With a rise that may come, though none did yet, as long as little was seen of the load."""
        counted_s, records, _ = np.array(self._counted).T
        rates = [each.rate for each in self._past]
        alike_s = self._moments_like_now(rates, horizon_s, or_lowest=True)
        passed_s = self._past[-1].time_s - self._past[0].time_s
        supposed = round(_UNSEEN_S / passed_s * len(alike_s)) if len(alike_s) else 1
        highest = 0.0 if self._has_risen else _UNSEEN_RISE * min(rate, float(np.median(rates)))
        before, after = rate * horizon_s, max(highest, rate) * horizon_s
        rise_s = counted_s[0] - horizon_s
        return LoadReplay(
            np.concatenate([[rise_s - horizon_s, rise_s], counted_s]),
            np.concatenate([[-before - after, -after], records - records[0]]),
            np.concatenate([[rise_s] * supposed, alike_s]),
            rate,
            supposed,
        )

    @property
    def _has_risen(self) -> bool:
        """Whether the level of the load has risen by as much as it may, though nothing like that was seen."""
        first_s = self._past[0].time_s + _LEVEL_OVER_S
        levels = [each.level for each in self._past if each.time_s >= first_s]
        return bool(levels) and levels[-1] >= _UNSEEN_RISE * min(levels)

    def _replay_of_work(self, rate: float, horizon_s: float) -> LoadReplay:
        """In records that cost what they do now. That records cost more may have been an incident, while a rise of the
        rate is how the load is."""
        counted_s, _, work_s = np.array(self._counted).T
        alike_s = self._moments_like_now([each.work for each in self._past], horizon_s)
        return LoadReplay(counted_s, work_s / self._cost_s, alike_s, rate, is_expected_once=False)

    def _replay_at_level(self, rate: float, horizon_s: float) -> LoadReplay:
        """As if the load had always varied around its present level: bursts of one that has doubled are twice as high
        as before, and those of one that is half as high by now half as high. What came once may be what has raised it.
        """
        counted_s, records, _ = np.array(self._counted).T
        times_s, levels, rates = np.array([(each.time_s, each.level, each.rate) for each in self._past]).T
        around = np.interp(counted_s + _LEVEL_OVER_S / 2, times_s, levels)
        scaled = np.cumsum(np.diff(records, prepend=records[0]) * levels[-1] / around)
        alike_s = self._moments_like_now(rates / np.interp(times_s + _LEVEL_OVER_S / 2, times_s, levels), horizon_s)
        return LoadReplay(counted_s, scaled, alike_s, rate, is_expected_once=False)

    def _moments_like_now(self, loads: ArrayLike, horizon_s: float, *, or_lowest: bool = False) -> NDArray[np.float64]:
        """When the load, of which `loads` has one for each turn, was like the last of them; none while there are few
        such moments, or with `or_lowest` those at which it was lowest, since it never was as low."""
        times_s, load = np.array([each.time_s for each in self._past]), np.asarray(loads)
        known = np.flatnonzero((times_s <= times_s[-1] - horizon_s) & (times_s >= self._counted[0].time_s))
        not_above = known[load[known] <= _ALIKE * load[-1]]
        if len(not_above) < _ENOUGH:
            if len(known) < _ENOUGH or not or_lowest:
                return np.empty(0)
            not_above = np.sort(known[np.argsort(load[known], kind="stable")[:_ENOUGH]])
        lowest = min(load[-1] / _ALIKE, np.partition(load[not_above], -_ENOUGH)[-_ENOUGH])
        alike = not_above[load[not_above] >= lowest]
        return np.asarray(times_s[alike[:: math.ceil(len(alike) / _MOST_MOMENTS)]])

    def _ahead(self, horizon_s: float) -> int:
        """In turns."""
        passed_s = self._past[-1].time_s - self._past[0].time_s
        return max(1, math.ceil(horizon_s * (len(self._past) - 1) / passed_s)) if passed_s > 0 else 1

    def _found_season(self) -> int:
        """In turns; 1 if there is none, if the season before the last one tells too little about it, or if the load
        varies too little to tell a season from chance."""
        work = np.array([each.work for each in self._past])
        season = season_of(work) if len(work) > 2 * _ENOUGH and work.max() > 0 else 1
        if season < _SHORTEST_SEASON or 2 * season > len(work):
            return 1
        before, last = work[-2 * season : -season], work[-season:]
        errors = np.abs(last - before) / np.maximum(last, work.mean() / 10)
        is_close = np.median(errors) <= _SEASON_ERROR and np.quantile(errors, 0.9) <= 3 * _SEASON_ERROR
        return season if is_close and np.ptp(last) > 2 * _SEASON_ERROR * last.mean() else 1
