"""Consistent mean: a rate over the longest recent time in which it did not change."""

import math
from collections import deque

_SHORTEST_S = 4.0
_LONGEST_S = 120.0
_SIGNIFICANT = 3.0
"""Standard errors between the newer and the older mean from which on they are two different ones."""


class ConsistentMean:
    """The mean of `total` per `weight` over recent samples, for example records per second.

    Looks back over ever longer times, each twice the one before, as long as what is added does not differ from what is
    newer by more than chance. So it is precise while nothing changes, and follows a jump within seconds. The variance
    of a total of mean m over weight w is `noise`·m·w for counts, and `noise`·m²·w with `relative`.
    """

    def __init__(self, *, noise: float = 1.0, relative: bool = False) -> None:
        self._noise, self._relative = noise, relative
        self._samples: deque[tuple[float, float, float]] = deque()

    def add(self, time_s: float, weight: float, total: float) -> None:
        """What was counted since the sample before."""
        if self._samples and time_s < self._samples[-1][0]:
            self._samples.clear()
        self._samples.append((time_s, weight, total))
        while self._samples[0][0] < time_s - _LONGEST_S:
            self._samples.popleft()

    def mean(self, now_s: float) -> float | None:
        """None without a sample."""
        weight = total = 0.0
        older_weight = older_total = 0.0
        reach_s = _SHORTEST_S
        for time_s, sample_weight, sample_total in reversed(self._samples):
            if time_s <= now_s - reach_s and weight > 0:
                if older_weight > 0 and self._differ(weight, total, older_weight, older_total):
                    break
                weight, total = weight + older_weight, total + older_total
                older_weight = older_total = 0.0
                reach_s *= 2
            if reach_s == _SHORTEST_S or weight == 0:
                weight, total = weight + sample_weight, total + sample_total
            else:
                older_weight, older_total = older_weight + sample_weight, older_total + sample_total
        return total / weight if weight > 0 else None

    def _differ(self, weight: float, total: float, older_weight: float, older_total: float) -> bool:
        mean = (total + older_total) / (weight + older_weight)
        variance = self._noise * (mean * mean if self._relative else mean)
        error = math.sqrt(variance * (1 / weight + 1 / older_weight))
        return abs(total / weight - older_total / older_weight) > _SIGNIFICANT * max(error, 1e-3 * mean)
