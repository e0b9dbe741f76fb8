"""Fourier: extrapolates the strongest frequencies of the window (PA-SPS's FFT)."""

from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, ForecastPath, extrapolated, rms, times

_FREQUENCIES = 10


class Fourier:
    """Keeps the 10 strongest frequencies, the mean among them, and no trend: the forecast is the beginning of the
    window without its noise. Good if the window holds whole periods of a stationary series."""

    name: ClassVar[str] = "fft"
    summary: ClassVar[str] = "extrapolates the ten strongest frequencies of the window (PA-SPS: FFT)"
    least: ClassVar[int] = 4 * _FREQUENCIES
    light: ClassVar[bool] = True

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        spectrum = np.fft.rfft(samples)
        weakest = np.argsort(np.abs(spectrum), kind="stable")[:-_FREQUENCIES]
        spectrum[weakest] = 0
        smooth = np.fft.irfft(spectrum, len(samples))
        error = rms(samples - smooth, parameters=2 * _FREQUENCIES)
        return ForecastPath(np.resize(smooth, horizon), extrapolated(error, len(samples), horizon))


class FourierWithTrend(Fourier):
    """The frequencies of what is left after a straight line, which the forecast continues."""

    name: ClassVar[str] = "fft-trend"
    summary: ClassVar[str] = "the same around a line that goes on"

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        moments, future = times(samples, horizon)
        slope, level = np.polyfit(moments, samples, 1)
        around = super().predict(samples - (level + slope * moments), horizon)
        return ForecastPath(level + slope * future + around.mean, around.error)
