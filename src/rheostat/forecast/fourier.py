"""The strongest frequencies of the window, carried on (PA-SPS's FFT)."""

from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, Path, extrapolated, rms

_FREQUENCIES = 10


class Fourier:
    """Keeps the 10 strongest frequencies, the mean among them, and no trend: what follows the window is its own
    beginning, without the noise. Good where the window holds whole periods of a stationary series."""

    name: ClassVar[str] = "fft"
    summary: ClassVar[str] = "the ten strongest frequencies of the window, carried on (PA-SPS: FFT)"
    least: ClassVar[int] = 4 * _FREQUENCIES
    light: ClassVar[bool] = True

    def ahead(self, samples: Floats, horizon: int) -> Path:
        spectrum = np.fft.rfft(samples)
        weakest = np.argsort(np.abs(spectrum), kind="stable")[:-_FREQUENCIES]
        spectrum[weakest] = 0
        smooth = np.fft.irfft(spectrum, len(samples))
        error = rms(samples - smooth, parameters=2 * _FREQUENCIES)
        return Path(np.resize(smooth, horizon), extrapolated(error, len(samples), horizon))
