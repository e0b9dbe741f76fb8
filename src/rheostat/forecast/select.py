"""No model wins on every series: use the one that has been right of late, where too little is worse than too much."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rheostat.forecast.attempt import attempt
from rheostat.forecast.autoregression import Autoregression
from rheostat.forecast.basic import Basic
from rheostat.forecast.holt_winters import HoltWinters
from rheostat.forecast.model import Floats, Model, Path
from rheostat.forecast.regression import Linear
from rheostat.forecast.seasonal import SeasonalNaive

_ORIGINS = 2
"""Moments in the window at which the models are asked what has happened since."""


class Select:
    """Asks every candidate to forecast the end of the window from what was before it, and uses the one with the
    least weighted error. A sample that was under-forecast counts `under` times as much as one over-forecast."""

    name: ClassVar[str] = "select"
    summary: ClassVar[str] = "the model with the least recent error, under-forecasts weighing heavier"
    least: ClassVar[int] = 8
    light: ClassVar[bool] = True

    def __init__(self, candidates: Sequence[Model] | None = None, under: float = 3.0) -> None:
        light: Sequence[Model] = (Basic(), SeasonalNaive(), HoltWinters(), Autoregression(), Linear())
        self._candidates = tuple(candidates or light)
        self._under = under

    def ahead(self, samples: Floats, horizon: int) -> Path:
        return self.chosen(samples, horizon).ahead(samples, horizon)

    def chosen(self, samples: Floats, horizon: int) -> Model:
        """The candidate to be used after `samples`; at equal errors the first."""
        return min(self._candidates, key=lambda each: self._recent_error(each, samples, horizon))

    def _recent_error(self, candidate: Model, samples: Floats, horizon: int) -> float:
        reach = min(horizon, len(samples) // 3)
        ends = [len(samples) - (origin * reach) // _ORIGINS for origin in range(_ORIGINS)]
        return sum(self._error(candidate, samples[: end - reach], samples[end - reach : end]) for end in ends)

    def _error(self, candidate: Model, before: Floats, truth: Floats) -> float:
        path, _ = attempt(candidate, before, len(truth))
        if path is None:
            return math.inf
        missed = truth - path.mean
        return float(np.where(missed > 0, self._under * missed, -missed).sum())
