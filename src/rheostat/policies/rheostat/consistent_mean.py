"""Consistent mean: a rate over the longest recent time in which it did not change."""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rheostat.policies.rheostat.rate_fits import LineFit, Sample, bend_in, jump_in

_LONGEST_S = 140.0
_FIRST_S = 4.0
"""The first of the times that are looked back over: the next ones are twice, four times, ... as long."""

_SIGNIFICANT = 4.5
"""Standard errors between the newer and the older mean from which on they are two different ones: by chance that
happens less than once in an hour of turns."""

_SIGNIFICANT_CHANGE = 6.5
"""The same where the best of all bends and jumps is looked for: one of many is far off by chance more often."""

_TREND_ERRORS = 1.0
"""Standard errors by which a trend may be smaller than it looks."""

_LEAST_TREND_NOISE = 0.1
"""Records that come evenly show a trend or a jump sooner than those that come by chance, whose noise is 1."""

_BEND_PENALTY, _JUMP_PENALTY = 2.0, 4.0
"""Variances by which they have to be better than a line: two for each parameter more (Akaike's criterion)."""

_TRENDS_LAST_S = 40.0
"""A trend is followed for so long."""

_STEADY_S = 100.0
"""What did not change for so long has no trend, or one so slow that the mean follows it."""

_ENOUGH = 8
"""Samples from which on they tell how much they vary."""

_MEDIAN_OF_SQUARES = 0.455
"""Of a normal variable with variance 1."""

_MEDIAN_ERROR = 2.33
"""Standard error of that median, as a share of it, times the root of the number of squares."""

_REMEMBERED = 600
"""Differences between two samples that tell whether records come evenly: a few of them are alike by chance, too."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, the weight of the samples that it is of and the middle of their times, and how fast it rises or falls at
    least, per second: 0 if that could be chance."""

    mean: float
    weight: float
    trend: float
    middle_s: float

    def at(self, time_s: float) -> float:
        """As the trend goes on from the middle of the samples, though not for ever; no less than 0."""
        return max(0.0, self.mean + self.trend * min(time_s - self.middle_s, _TRENDS_LAST_S))


class ConsistentMean:
    """The mean of `total` per `weight` over recent samples, for example records per second.

    Looks back over ever longer times, each twice the one before, as long as what is added does not differ from what is
    newer by more than chance. So it is precise while nothing changes, and follows a jump at once. A jump left in
    counts is told from the beginning of a trend. The variance of a total of mean m over weight w is m·w for counts, and
    m²·w with `relative`, times `noise` at least, or more if samples differ more from one to the next in general. The
    weight of counts is the time that they took. Totals with `relative` are sums of a few long times and many short
    ones, and far above their mean more often than a normal variable; no trend is looked for in them.
    """

    def __init__(self, *, noise: float = 1.0, relative: bool = False) -> None:
        self._least_noise, self._relative = noise, relative
        self._samples: deque[Sample] = deque()
        self._squares: deque[float] = deque(maxlen=_REMEMBERED)

    def add(self, time_s: float, weight: float, total: float) -> None:
        """What was counted since the sample before."""
        if self._samples and time_s < self._samples[-1][0]:
            self._samples.clear()
        if len(self._samples) > 1:
            self._squares += self._squared([self._samples[-2], self._samples[-1]])
        self._samples.append((time_s, weight, total))
        while self._samples[0][0] < time_s - _LONGEST_S:
            self._samples.popleft()

    def correct_last(self, more: float) -> None:
        """The sample before was of so much more."""
        time_s, weight, total = self._samples.pop()
        self._samples.append((time_s, weight, total + more))

    def mean(self, now_s: float) -> float | None:
        """None without a sample."""
        estimate = self.estimate(now_s)
        return None if estimate is None else estimate.mean

    def estimate(self, now_s: float) -> Estimate | None:
        """None without a sample that has a weight."""
        measured = self._noise(self._squared(self._samples))
        noise = max(self._least_noise, measured)
        samples = [each for each in list(self._samples)[-self._consistent(now_s, noise) :] if each[1] > 0]
        if not samples:
            return None
        if self._relative:
            return self._steady(LineFit.of(samples))
        samples = [(time_s - weight / 2, weight, total) for time_s, weight, total in samples]
        usual = self._noise(self._squares) * (1 + _MEDIAN_ERROR / math.sqrt(max(1, len(self._squares))))
        noise = max(_LEAST_TREND_NOISE, measured, min(self._least_noise, usual))
        while first := _changed_at(samples, noise):
            samples = samples[first:]
        line = LineFit.of(samples)
        if line.spread <= 0 or len(samples) < _ENOUGH // 2 or now_s - samples[0][0] > _STEADY_S:
            return self._steady(line)
        error = math.sqrt(noise * line.mean / line.spread)
        sure = math.copysign(max(0.0, abs(line.slope) - _TREND_ERRORS * error), line.slope)
        return Estimate(line.mean, line.weight, sure, line.middle_s)

    @staticmethod
    def _steady(line: LineFit) -> Estimate:
        return Estimate(line.mean, line.weight, 0.0, line.middle_s)

    def _consistent(self, now_s: float, noise: float) -> int:
        """How many of the newest samples do not differ by more than chance."""
        weight = total = 0.0
        older_weight = older_total = 0.0
        reach_s, taken = 0.0, 0
        for number, (time_s, sample_weight, sample_total) in enumerate(reversed(self._samples)):
            if weight > 0 and time_s <= now_s - reach_s:
                if older_weight > 0 and self._differ(weight, total, older_weight, older_total, noise):
                    break
                weight, total, taken = weight + older_weight, total + older_total, number
                older_weight = older_total = 0.0
                reach_s = max(_FIRST_S, 2 * reach_s)
            if weight == 0:
                weight, total, taken = sample_weight, sample_total, number + 1
            else:
                older_weight, older_total = older_weight + sample_weight, older_total + sample_total
        return max(1, taken)

    def _noise(self, squares: Sequence[float]) -> float:
        """How much samples differ from one to the next, by the median, which a few jumps do not change."""
        return median(squares) / _MEDIAN_OF_SQUARES if len(squares) >= _ENOUGH else self._least_noise

    def _squared(self, samples: Iterable[Sample]) -> list[float]:
        """Differences from one sample to the next: squares, as shares of their variance without noise."""
        return [
            (total / weight - before / weight_before) ** 2
            / self._variance(1.0, (total + before) / (weight + weight_before), weight, weight_before)
            for (_, weight_before, before), (_, weight, total) in pairwise(samples)
            if weight > 0 and weight_before > 0 and total + before > 0
        ]

    def _differ(self, weight: float, total: float, older_weight: float, older_total: float, noise: float) -> bool:
        if self._relative and total > 0 and older_total > 0:
            ratio = (total / weight) / (older_total / older_weight)
            return abs(ratio - 1) > 1e-3 * _SIGNIFICANT and (
                abs(_normal_of_ratio(ratio, weight / noise, older_weight / noise)) > _SIGNIFICANT
            )
        mean = (total + older_total) / (weight + older_weight)
        error = math.sqrt(self._variance(noise, mean, weight, older_weight))
        return abs(total / weight - older_total / older_weight) > _SIGNIFICANT * max(error, 1e-3 * mean)

    def _variance(self, noise: float, mean: float, weight: float, older_weight: float) -> float:
        """Of the difference between two means."""
        return noise * (mean * mean if self._relative else mean) * (1 / weight + 1 / older_weight)


def _changed_at(samples: Sequence[Sample], noise: float) -> int:
    """Which of the samples is the first after a jump or a bend; 0 if a mean or a line explains them as well.

    A rate that jumped does not go on to rise, one that began to rise does.
    """
    line, bend, jump = LineFit.of(samples), bend_in(samples), jump_in(samples)
    if bend is None or jump is None:
        return 0
    variance = noise * line.mean
    left, first = min(
        (bend.unexplained + _BEND_PENALTY * variance, bend.first),
        (jump.unexplained + _JUMP_PENALTY * variance, jump.first),
    )
    is_change = line.deviation - left > _SIGNIFICANT_CHANGE**2 * variance
    return first if is_change and left < line.unexplained else 0


def _normal_of_ratio(ratio: float, count: float, older_count: float) -> float:
    """How many standard errors a ratio of two means of exponential times is from 1.

    It has an F distribution, whose cube root is nearly normal (Paulson's approximation).
    """
    error, older_error = 1 / (9 * count), 1 / (9 * older_count)
    root = math.cbrt(ratio)
    return ((1 - older_error) * root - (1 - error)) / math.sqrt(older_error * root * root + error)
