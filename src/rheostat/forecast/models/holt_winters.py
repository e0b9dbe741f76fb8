"""Holt-Winters: a level, a damped trend and an additive season, each smoothed exponentially."""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, ForecastPath, rms
from rheostat.forecast.models.season import season_of

_DAMPING = 0.95
"""The factor of the trend at each step: an undamped trend overshoots within tens of steps."""

_SMOOTHING = tuple(product((0.2, 0.5), (0.05, 0.3)))
"""Tried in every window: α of the level, β of the trend."""

_SEASON_SMOOTHING = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class _Smoothed:
    """The end of a run through the window, and its one-step errors."""

    alpha: float
    beta: float
    level: float
    trend: float
    season: list[float]
    errors: Floats


class HoltWinters:
    """Uses the one of four pairs of smoothing factors with the least one-step error over the window.

    Without a season (None is found, or 1 is given) it is Holt's damped trend.
    """

    name: ClassVar[str] = "holt-winters"
    summary: ClassVar[str] = "level, damped trend and season, exponentially smoothed"
    least: ClassVar[int] = 4
    light: ClassVar[bool] = True

    def __init__(self, season: int | None = None) -> None:
        self._season = season

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        season = min(self._season or season_of(samples), len(samples) // 2)
        runs = [_smooth(samples, season, alpha, beta) for alpha, beta in _SMOOTHING]
        best = min(runs, key=lambda run: float(run.errors @ run.errors))
        damped = np.cumsum(_DAMPING ** np.arange(1, horizon + 1))
        mean = best.level + best.trend * damped + _turned(best.season, len(samples), horizon)
        return ForecastPath(mean, rms(best.errors) * _growth(best, damped))


def _smooth(samples: Floats, length: int, alpha: float, beta: float) -> _Smoothed:
    """One run through the window, in plain numbers: for a hundred samples they are faster than arrays."""
    trend = _first_trend(samples, length)
    line = float(samples[:length].mean()) + trend * (np.arange(length) - (length - 1) / 2)
    level, season = float(line[-1]), (samples[:length] - line).tolist()
    gamma = _SEASON_SMOOTHING if length > 1 else 0.0
    errors = []
    for position, sample in enumerate(samples.tolist()[length:], start=length):
        place = position % len(season)
        expected = level + _DAMPING * trend + season[place]
        error = sample - expected
        level += _DAMPING * trend + alpha * error
        trend = _DAMPING * trend + alpha * beta * error
        season[place] += gamma * (1 - alpha) * error
        errors.append(error)
    return _Smoothed(alpha, beta, level, trend, season, np.array(errors))


def _first_trend(samples: Floats, length: int) -> float:
    return float(samples[length : 2 * length].mean() - samples[:length].mean()) / length


def _turned(season: list[float], start: int, horizon: int) -> Floats:
    places = np.arange(start, start + horizon) % len(season)
    return np.asarray(season)[places]


def _growth(run: _Smoothed, damped: Floats) -> Floats:
    """√(1 + Σ c²) of the standard errors of exponential smoothing with additive errors."""
    weights = run.alpha * (1 + run.beta * damped)
    if len(run.season) > 1:
        weights[len(run.season) - 1 :: len(run.season)] += _SEASON_SMOOTHING * (1 - run.alpha)
    return np.asarray(np.sqrt(1 + np.concatenate(([0.0], np.cumsum(weights[:-1] ** 2)))))
