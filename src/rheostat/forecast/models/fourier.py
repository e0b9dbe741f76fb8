"""Fourier: extrapolates the strongest frequencies of the window (PA-SPS's FFT)."""

from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, ForecastPath, extrapolated, rms

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
