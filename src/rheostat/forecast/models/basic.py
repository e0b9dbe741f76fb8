"""Basic: repeats the last interval (PA-SPS's Basic predictor, and all of PSPS)."""

from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, ForecastPath, rms


class Basic:
    """Repeats the last `horizon` samples, or a shorter window as a whole. It is the fallback of every other model."""

    name: ClassVar[str] = "basic"
    summary: ClassVar[str] = "repeats the last interval (PA-SPS: Basic)"
    least: ClassVar[int] = 1
    light: ClassVar[bool] = True

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:

        return ForecastPath(np.resize(samples[-horizon:], horizon), np.full(horizon, _change(samples, horizon)))


def _change(samples: Floats, horizon: int) -> float:
    """The usual difference between a sample and the one an interval before it; for a single sample its own size."""
    lag = min(horizon, len(samples) // 2)
    return rms(samples[lag:] - samples[:-lag]) if lag else float(samples[-1])
