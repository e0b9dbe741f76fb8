"""How long the season of a series is, found by its autocorrelation."""

import numpy as np

from rheostat.forecast.model import Floats, times
from rheostat.forecast.regression import linear_curve

_SHARE = 0.3
"""A lag counts as a season when so much of the variation comes back after it."""

_NEARLY = 0.9


def season_of(samples: Floats) -> int:
    """The first high peak of the autocorrelation, at most half the window; 1 when there is none.

    Twice a season is nearly as good a lag as the season, hence the first. A straight trend is taken out before: it
    resembles itself at every lag.
    """
    correlation = _autocorrelation(samples)
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner >= correlation[:-2]) & (inner > correlation[2:]) & (inner > _SHARE))
    peaks = peaks[peaks > 1]
    return int(peaks[np.argmax(correlation[peaks] > _NEARLY * correlation[peaks].max())]) if len(peaks) else 1


def _autocorrelation(samples: Floats) -> Floats:
    """At lags from 0 to half the window. Padded, so that the end does not meet the beginning."""
    moments, _ = times(samples, 0)
    away = samples - linear_curve(samples).at(moments)
    size = 2 * len(samples)
    power = np.abs(np.fft.rfft(away, size)) ** 2
    lags = np.arange(len(samples) // 2 + 1)
    products = np.fft.irfft(power, size)[: len(lags)] / (len(samples) - lags)
    return np.asarray(products / products[0]) if products[0] > 0 else np.zeros(len(lags))
