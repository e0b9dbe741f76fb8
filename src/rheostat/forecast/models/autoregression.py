"""Autoregression: each sample as a weighted sum of those before it; ridge regression keeps the weights small."""

from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rheostat.forecast.model import Floats, ForecastPath, rms

_MOST_LAGS = 10
_RIDGE = 0.1
"""Per sample, for samples of deviation 1."""


class Autoregression:
    """Ridge autoregression over up to ten lags, extended step by step."""

    name: ClassVar[str] = "autoregression"
    summary: ClassVar[str] = "ridge regression on the last ten samples"
    least: ClassVar[int] = 12
    light: ClassVar[bool] = True

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        centre, scale = float(samples.mean()), float(samples.std()) or 1.0
        series = (samples - centre) / scale
        lags = min(_MOST_LAGS, len(series) // 4)
        before, after = sliding_window_view(series, lags)[:-1], series[lags:]
        weights = _ridge(before, after)
        error = rms(after - before @ weights, parameters=lags)
        return ForecastPath(
            centre + scale * _extended(series, weights, horizon), scale * error * _growth(weights, horizon)
        )


def _ridge(before: Floats, after: Floats) -> Floats:
    """The weight of each lag, the oldest first."""
    penalty = _RIDGE * len(after) * np.eye(before.shape[1])
    return np.asarray(np.linalg.solve(before.T @ before + penalty, before.T @ after))


def _extended(series: Floats, weights: Floats, horizon: int) -> Floats:
    lags = len(weights)
    path = np.concatenate((series[-lags:], np.zeros(horizon)))
    for step in range(horizon):
        path[lags + step] = path[step : lags + step] @ weights
    return path[lags:]


def _growth(weights: Floats, horizon: int) -> Floats:
    """√Σψ²: the growth of one step's error as steps build on each other."""
    impulse = np.concatenate((np.zeros(len(weights) - 1), [1.0]))
    answers = np.concatenate(([1.0], _extended(impulse, weights, horizon - 1)))
    return np.asarray(np.sqrt(np.cumsum(answers**2)))
