"""The next interval will be as this one (PA-SPS's Basic predictor, and all of PSPS)."""

from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, Path, rms


class Basic:
    """Repeats the last `horizon` samples. Every other model falls back to it."""

    name: ClassVar[str] = "basic"
    summary: ClassVar[str] = "the next interval is as this one (PA-SPS: Basic)"
    least: ClassVar[int] = 1
    light: ClassVar[bool] = True

    def ahead(self, samples: Floats, horizon: int) -> Path:
        """Of a shorter window all of it, over and over."""
        return Path(np.resize(samples[-horizon:], horizon), np.full(horizon, _change(samples, horizon)))


def _change(samples: Floats, horizon: int) -> float:
    """How much a sample usually differs from the one an interval before it.

    Of a single sample nothing is known: it may be wrong by as much as itself.
    """
    lag = min(horizon, len(samples) // 2)
    return rms(samples[lag:] - samples[:-lag]) if lag else float(samples[-1])
