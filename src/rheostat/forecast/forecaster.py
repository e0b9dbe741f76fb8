"""Forecaster: a model whose forecasts are always finite and not negative, with a fallback."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from rheostat.errors import ConfigError
from rheostat.forecast.attempt import attempt
from rheostat.forecast.model import Floats, ForecastModel, ForecastPath, rms
from rheostat.forecast.models.basic import Basic
from rheostat.forecast.models.regression import Linear

LARGEST_SAMPLE = 1e100
"""Models add up squares of samples, which would overflow for much larger ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Expected samples, one for each step ahead, between `low` and `high` with the forecaster's probability.

    `model` made it. `problem` says why that is not the requested model.
    """

    mean: Floats
    low: Floats
    high: Floats
    model: str
    problem: str | None = None

    @property
    def total(self) -> float:
        """The sum over all steps: the events of the interval, when samples are events per step."""
        return float(self.mean.sum())


class Forecaster:
    """Forecasts by `model`, or by Basic if that fails, diverges, or has too few samples.

    `level` is the probability with which a value is expected between low and high. The model's own error is not enough
    for that: the model also forecasts the end of the window, and its error there is added. For a slow model a straight
    line takes its place in this test.
    """

    def __init__(self, model: ForecastModel, *, level: float = 0.8) -> None:
        if not 0 < level < 1:
            raise ConfigError(f"level {level!r} must be a probability between 0 and 1, e.g. 0.8")
        self.model = model
        self.level = level
        self._width = -NormalDist().inv_cdf((1 - level) / 2)  # the other tail's (1 + level) / 2 may round to 1
        self._examined: ForecastModel = model if model.light else Linear()

    def forecast(self, samples: ArrayLike, horizon: int) -> Forecast:
        """The next `horizon` steps after `samples` (at equal distances, the latest last; at least one)."""
        if horizon < 1:
            raise ConfigError(f"horizon {horizon!r} must be a number of steps >= 1")
        known = checked(samples)
        path, problem = attempt(self.model, known, horizon)
        if path is None:
            return self._bounded(Basic().predict(known, horizon), 0.0, Basic.name, f"{problem}: basic instead")
        return self._bounded(path, _recent_error(self._examined, known, horizon), self.model.name, None)

    def _bounded(self, path: ForecastPath, recent_error: float, name: str, problem: str | None) -> Forecast:
        reach = self._width * np.hypot(path.error, recent_error)
        low, mean, high = (np.maximum(values, 0.0) for values in (path.mean - reach, path.mean, path.mean + reach))
        return Forecast(mean, low, high, name, problem)


def checked(samples: ArrayLike) -> Floats:
    """The samples as an array; a wrong one is refused with its position and value."""
    known = np.asarray(samples, dtype=float)
    if known.ndim != 1 or len(known) == 0:
        raise ConfigError(f"samples of shape {known.shape} cannot be forecast: give a list of at least one number")
    wrong = ~((known >= 0) & (known <= LARGEST_SAMPLE))
    if wrong.any():
        position = int(np.argmax(wrong))
        raise ConfigError(
            f"sample {position} is {known[position]:g}: samples must be numbers from 0 to {LARGEST_SAMPLE:g}"
        )
    return known


def _recent_error(model: ForecastModel, samples: Floats, horizon: int) -> float:
    """The error of `model` in a forecast of the end of the window; 0 if it could not have made one."""
    reach = min(horizon, len(samples) // 3)
    if reach == 0:
        return 0.0
    before, truth = samples[:-reach], samples[-reach:]
    path, _ = attempt(model, before, reach)
    return 0.0 if path is None else rms(truth - path.mean)
