"""Seasonal naive: repeats the last season, which is hard to beat if there is one."""

from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, ForecastPath, rms
from rheostat.forecast.models.season import season_of


class SeasonalNaive:
    """Repeats the last season; without one, the last sample. A season of None is detected in each window."""

    name: ClassVar[str] = "seasonal-naive"
    summary: ClassVar[str] = "repeats the last season, which is found by autocorrelation"
    least: ClassVar[int] = 2
    light: ClassVar[bool] = True

    def __init__(self, season: int | None = None) -> None:
        self._season = season

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        season = min(self._season or season_of(samples), len(samples) - 1)
        repeats = 1 + np.arange(horizon) // season
        error = rms(samples[season:] - samples[:-season])
        return ForecastPath(np.resize(samples[-season:], horizon), error * np.sqrt(repeats))
