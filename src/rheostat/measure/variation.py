"""Squared coefficients of variation (variance over squared mean), which GI/G/k needs (DRS eq. 5)."""

import heapq
from collections.abc import Iterable, Sequence
from itertools import pairwise


class Variation:
    """Mean and variance of a stream of samples in constant memory (Welford); two of them merge exactly (Chan)."""

    __slots__ = ("_squares", "count", "mean")

    def __init__(self, samples: Iterable[float] = ()) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0
        for sample in samples:
            self.add(sample)

    def add(self, sample: float) -> None:
        self.count += 1
        step = sample - self.mean
        self.mean += step / self.count
        self._squares += step * (sample - self.mean)

    def merge(self, other: "Variation") -> "Variation":
        """What one would be that had seen the samples of both."""
        merged = Variation()
        merged.count = self.count + other.count
        if merged.count:
            step = other.mean - self.mean
            merged.mean = self.mean + step * other.count / merged.count
            merged._squares = self._squares + other._squares + step * step * self.count * other.count / merged.count
        return merged

    @property
    def variance(self) -> float | None:
        """The unbiased variance; None under two samples."""
        return self._squares / (self.count - 1) if self.count > 1 else None

    @property
    def scv(self) -> float | None:
        """None under two samples, or when their mean is zero."""
        variance = self.variance
        return None if variance is None or self.mean == 0 else variance / self.mean**2


def scv(samples: Iterable[float]) -> float | None:
    """The squared coefficient of variation of `samples`; None when it is not defined."""
    return Variation(samples).scv


def arrival_scv(times_s: Iterable[Sequence[float]]) -> float | None:
    """That of the times between consecutive arrivals at an operator.

    `times_s` holds the arrival times at each executor, in order. They are merged first: what an operator as a
    whole sees varies less than what each executor sees.
    """
    merged = heapq.merge(*times_s)
    return scv(later - earlier for earlier, later in pairwise(merged))
