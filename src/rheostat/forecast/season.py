"""How long the season of a series is, found by its autocorrelation."""

import numpy as np
from numpy.typing import NDArray

from rheostat.forecast.model import Floats, times
from rheostat.forecast.regression import linear_curve

_SHARE = 0.3
"""A lag counts as a season when so much of the variation comes back after it."""

_NEARLY = 0.9
"""So much of the highest peak is enough for an earlier one."""


def season_of(samples: Floats) -> int:
    """The lag at which the autocorrelation comes back first, at most half the window; 1 when it does not.

    Twice a season is nearly as good a lag as the season, hence the first. A straight trend is taken out before: it
    resembles itself at every lag. So does a slow wave at the lags of a few samples, where noise makes peaks: only what
    comes after a fall counts.
    """
    correlation = _autocorrelation(samples)
    peaks = _peaks(correlation)
    peaks = peaks[peaks > _first(correlation < _SHARE)]
    if not len(peaks):
        return 1
    best = correlation[peaks].max()
    start = int(peaks[_first(correlation[peaks] > _NEARLY * best)])
    hump = peaks[(peaks >= start) & (peaks < start + _first(correlation[start:] < best / 2))]
    return int(hump[correlation[hump].argmax()])


def _peaks(correlation: Floats) -> NDArray[np.int64]:
    inner = correlation[1:-1]
    return 1 + np.flatnonzero((inner >= correlation[:-2]) & (inner > correlation[2:]) & (inner > _SHARE))


def _first(holds: NDArray[np.bool_]) -> int:
    """The position of the first that holds; behind the last if none does."""
    return int(holds.argmax()) if holds.any() else len(holds)


def _autocorrelation(samples: Floats) -> Floats:
    """At lags from 0 to half the window. Padded, so that the end does not meet the beginning."""
    moments, _ = times(samples, 0)
    away = samples - linear_curve(samples).at(moments)
    size = 2 * len(samples)
    power = np.abs(np.fft.rfft(away, size)) ** 2
    lags = np.arange(len(samples) // 2 + 1)
    products = np.fft.irfft(power, size)[: len(lags)] / (len(samples) - lags)
    return np.asarray(products / products[0]) if products[0] > 0 else np.zeros(len(lags))
