"""As one season ago (the seasonal naive forecast): hard to beat where there is a season."""

from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, Path, rms
from rheostat.forecast.season import season_of


class SeasonalNaive:
    """Repeats the last season; without one, the last sample. A season of None is looked for in each window."""

    name: ClassVar[str] = "seasonal-naive"
    summary: ClassVar[str] = "as one season ago; the season is found by autocorrelation"
    least: ClassVar[int] = 2
    light: ClassVar[bool] = True

    def __init__(self, season: int | None = None) -> None:
        self._season = season

    def ahead(self, samples: Floats, horizon: int) -> Path:
        season = min(self._season or season_of(samples), len(samples) - 1)
        turns = 1 + np.arange(horizon) // season
        error = rms(samples[season:] - samples[:-season])
        return Path(np.resize(samples[-season:], horizon), error * np.sqrt(turns))
