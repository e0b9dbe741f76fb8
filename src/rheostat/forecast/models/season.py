"""Season length of a series, found by autocorrelation."""

import numpy as np
from numpy.typing import NDArray

from rheostat.forecast.model import Floats, times
from rheostat.forecast.models.regression import linear_curve

_SHARE = 0.3
"""The least autocorrelation at a lag that counts as a season."""

_NEARLY = 0.9
"""An earlier peak with this share of the highest one is taken instead."""


def season_of(samples: Floats) -> int:
    """The lag of the first high peak of the autocorrelation, at most half the window; 1 if there is none.

    Twice a season is nearly as good a lag as the season, hence the first. A straight trend, which correlates at every
    lag, is removed before. A slow wave correlates at short lags, where noise makes peaks: a peak counts only after a
    fall.
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
    """The position of the first true value; the length if there is none."""
    return int(holds.argmax()) if holds.any() else len(holds)


def _autocorrelation(samples: Floats) -> Floats:
    """At lags from 0 to half the window; padded, so that the end does not wrap around to the beginning."""
    moments, _ = times(samples, 0)
    away = samples - linear_curve(samples).at(moments)
    size = 2 * len(samples)
    power = np.abs(np.fft.rfft(away, size)) ** 2
    lags = np.arange(len(samples) // 2 + 1)
    products = np.fft.irfft(power, size)[: len(lags)] / (len(samples) - lags)
    return np.asarray(products / products[0]) if products[0] > 0 else np.zeros(len(lags))
