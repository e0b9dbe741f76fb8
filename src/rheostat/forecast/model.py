"""What every forecasting model offers: from a window of samples to the steps after it, with their standard errors."""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The steps that come next: the value expected at each, and the standard error of that expectation."""

    mean: Floats
    error: Floats


class Model(Protocol):
    """A way to continue a series of samples taken at equal distances, the latest last.

    It sees nothing but `samples` and remembers nothing: equal windows give equal paths. It may fail on a window
    or run away from it; `Forecaster` deals with that. `least` is how many samples make it meaningful; a
    `light` one takes a few milliseconds at most, and so may be asked twice.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    least: ClassVar[int]
    light: ClassVar[bool]

    def ahead(self, samples: Floats, horizon: int) -> Path: ...


def times(samples: Floats, horizon: int) -> tuple[Floats, Floats]:
    """The moments of the samples, counted from 1, and those of the `horizon` steps after them."""
    count = len(samples)
    return np.arange(1.0, count + 1), np.arange(count + 1.0, count + horizon + 1)


def rms(residuals: Floats, parameters: int = 0) -> float:
    """The standard error of a fit with so many free parameters; 0 when it left nothing unexplained."""
    freedom = max(1, len(residuals) - parameters)
    return math.sqrt(float(residuals @ residuals) / freedom)


def extrapolated(error: float, count: int, horizon: int) -> Floats:
    """How the error of a fit over `count` moments grows beyond them, as that of a straight line does.

    σ·√(1 + 1/n + (x − x̄)²/Sxx), the prediction error of a simple regression; other curves over time borrow it.
    """
    offset = np.arange(1.0, horizon + 1) + (count - 1) / 2
    squares = max(count * (count * count - 1) / 12, 1.0)
    return np.asarray(error * np.sqrt(1 + 1 / count + offset * offset / squares))
