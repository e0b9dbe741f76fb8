"""Fits to recent rates: a line, for a rate that rises or falls steadily, a bend where it begins to, and a jump from one
level to another."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

_FEWEST = 4
"""Samples that a bend or a jump needs: with fewer nothing is left to tell them from a line."""

Sample = tuple[float, float, float]
"""Time, weight (above 0) and total: the rate is their ratio."""


class LineFit(NamedTuple):
    """A line by least squares: `mean` at `middle_s`, rising by `slope` a second.

    `unexplained` is the sum of squares about the line, `deviation` that about the mean, and `spread` that of the times.
    """

    mean: float
    weight: float
    middle_s: float
    spread: float
    slope: float
    deviation: float

    @property
    def unexplained(self) -> float:
        return self.deviation - self.slope * self.slope * self.spread

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Self:
        times_s, weights, totals = np.array(samples).T
        weight = float(weights.sum())
        mean, middle_s = float(totals.sum()) / weight, float(times_s @ weights) / weight
        above, later_s = totals / weights - mean, times_s - middle_s
        spread = float(weights @ later_s**2)
        slope = float((weights * above) @ later_s) / spread if spread > 0 else 0.0
        return cls(mean, weight, middle_s, spread, slope, float(weights @ above**2))


class ChangeFit(NamedTuple):
    """The best bend or jump: `first` is the first sample after it, `unexplained` the sum of squares that is left."""

    first: int
    unexplained: float


def bend_in(samples: Sequence[Sample]) -> ChangeFit | None:
    """A level, and from one of the samples on a line that begins at it, with two samples or more after that one.

    None for too few samples.
    """
    if len(samples) < _FEWEST:
        return None
    times_s, weights, totals = np.array(samples).T
    above = totals / weights - totals.sum() / weights.sum()
    risen_s = np.maximum(0.0, times_s - times_s[1 : len(times_s) - 2, np.newaxis])
    risen_s -= (risen_s @ weights / weights.sum())[:, np.newaxis]
    explained = (risen_s @ (weights * above)) ** 2 / (risen_s**2 @ weights)
    best = int(np.argmax(explained))
    return ChangeFit(best + 1, float(weights @ above**2 - explained[best]))


def jump_in(samples: Sequence[Sample]) -> ChangeFit | None:
    """Two levels, with two samples or more at the newer one.

    The sample between them may belong to neither: a rate jumps in the middle of one. None for too few samples.
    """
    if len(samples) < _FEWEST:
        return None
    _, weights, totals = np.array(samples).T
    older, newer = _about_mean(weights, totals), _about_mean(weights[::-1], totals[::-1])[::-1]
    fits = []
    for left_out in (0, 1):
        unexplained = older[: len(older) - 2 - left_out] + newer[1 + left_out : -1]
        best = int(np.argmin(unexplained))
        fits.append(ChangeFit(best + 1 + left_out, float(unexplained[best])))
    return min(fits, key=lambda fit: fit.unexplained)


def _about_mean(weights: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of squares of the first, the first two, the first three, ... rates about their mean."""
    squares: NDArray[np.float64] = np.cumsum(totals**2 / weights) - np.cumsum(totals) ** 2 / np.cumsum(weights)
    return squares
