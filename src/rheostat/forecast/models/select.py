"""Selection: the model with the least recent error, where too low is worse than too high."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rheostat.forecast.attempt import attempt
from rheostat.forecast.model import Floats, ForecastModel, ForecastPath
from rheostat.forecast.models.autoregression import Autoregression
from rheostat.forecast.models.basic import Basic
from rheostat.forecast.models.holt_winters import HoltWinters
from rheostat.forecast.models.regression import Linear
from rheostat.forecast.models.seasonal_naive import SeasonalNaive

_ORIGINS = 4
"""Points in the window from which the models forecast its end."""

_BETTER = 0.5
"""The error of another model over that of the first, the simplest, must be below this for it to be chosen: the least of
several errors is low by chance, and the simple model loses least where nothing can be foreseen."""


class Select:
    """Lets every candidate forecast the end of the window from what precedes it, and uses the one with the least
    weighted error, with a prior for the first one. An under-forecast counts `under` times as much as an
    over-forecast."""

    name: ClassVar[str] = "select"
    summary: ClassVar[str] = "the model with the least recent error, where under-forecasts count more"
    least: ClassVar[int] = 8
    light: ClassVar[bool] = True

    def __init__(self, candidates: Sequence[ForecastModel] | None = None, under: float = 3.0) -> None:
        light: Sequence[ForecastModel] = (Basic(), SeasonalNaive(), HoltWinters(), Autoregression(), Linear())
        self._candidates = tuple(candidates or light)
        self._under = under

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        return self.chosen(samples, horizon).predict(samples, horizon)

    def chosen(self, samples: Floats, horizon: int) -> ForecastModel:
        """The candidate to use after `samples`: the first, unless another one was much better."""
        simple, *others = self._candidates
        bound = _BETTER * self._recent_error(simple, samples, horizon)
        errors = [(self._recent_error(each, samples, horizon), each) for each in others]
        best = min(errors, key=lambda pair: pair[0], default=None)
        return simple if best is None or best[0] >= bound else best[1]

    def _recent_error(self, candidate: ForecastModel, samples: Floats, horizon: int) -> float:
        reach = min(horizon, len(samples) // 3)
        ends = [len(samples) - (origin * reach) // _ORIGINS for origin in range(_ORIGINS)]
        return sum(self._error(candidate, samples[: end - reach], samples[end - reach : end]) for end in ends)

    def _error(self, candidate: ForecastModel, before: Floats, truth: Floats) -> float:
        path, _ = attempt(candidate, before, len(truth))
        if path is None:
            return math.inf
        missed = truth - path.mean
        return float(np.where(missed > 0, self._under * missed, -missed).sum())
