"""Errors of forecasts, as shares of what came. All take arrays of any one shape."""

import numpy as np

from rheostat.forecast.model import Floats


def mape(truth: Floats, forecast: Floats) -> float | None:
    """The mean of |forecast − truth| / truth where the truth is not zero; None when it always is."""
    some = truth > 0
    return float(np.mean(np.abs(forecast[some] - truth[some]) / truth[some])) if some.any() else None


def wape(truth: Floats, forecast: Floats) -> float | None:
    """Σ|forecast − truth| / Σ truth: large values weigh as much as they are."""
    return _share(np.abs(forecast - truth).sum(), truth.sum())


def bias(truth: Floats, forecast: Floats) -> float | None:
    """Σ(forecast − truth) / Σ truth: above 0 too much was expected."""
    return _share((forecast - truth).sum(), truth.sum())


def pinball(truth: Floats, forecast: Floats, quantile: float) -> float:
    """The mean loss of `forecast` as a quantile: a unit too little costs `quantile`, a unit too much the rest of 1."""
    missed = truth - forecast
    return float(np.mean(np.maximum(quantile * missed, (quantile - 1) * missed)))


def coverage(truth: Floats, low: Floats, high: Floats) -> float:
    """The share of what came that lay within the bounds."""
    return float(np.mean((low <= truth) & (truth <= high)))


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None
