"""Forecasting model: the interface of all models, from a window of samples to the next steps with standard errors."""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ForecastPath:
    """The next steps: the expected value of each, and its standard error."""

    mean: Floats
    error: Floats


class ForecastModel(Protocol):
    """Continues a series of samples taken at equal distances, the latest last.

    It depends on `samples` only and keeps no state: equal windows give equal paths. It may fail on a window or diverge
    from it; `Forecaster` handles that. `least` is the number of samples that it needs; a `light` model takes a few
    milliseconds at most, and so may be called twice.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    least: ClassVar[int]
    light: ClassVar[bool]

    def predict(self, samples: Floats, horizon: int) -> ForecastPath: ...


def times(samples: Floats, horizon: int) -> tuple[Floats, Floats]:
    """The times of the samples, counted from 1, and those of the `horizon` steps after them."""
    count = len(samples)
    return np.arange(1.0, count + 1), np.arange(count + 1.0, count + horizon + 1)


def rms(residuals: Floats, parameters: int = 0) -> float:
    """The standard error of a fit with `parameters` free parameters."""
    freedom = max(1, len(residuals) - parameters)
    return math.sqrt(float(residuals @ residuals) / freedom)


def extrapolated(error: float, count: int, horizon: int) -> Floats:
    """The error of a fit over `count` samples in the next `horizon` steps, as of a straight line.

    σ·√(1 + 1/n + (x − x̄)²/Sxx), the prediction error of a simple regression, also used for other curves over time.
    """
    offset = np.arange(1.0, horizon + 1) + (count - 1) / 2
    squares = max(count * (count * count - 1) / 12, 1.0)
    return np.asarray(error * np.sqrt(1 + 1 / count + offset * offset / squares))
