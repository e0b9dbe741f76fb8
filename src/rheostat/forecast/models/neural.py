"""Neural network: PA-SPS's ANN, a perceptron from time to sample."""

from typing import ClassVar

import numpy as np

from rheostat.forecast.model import Floats, ForecastPath, extrapolated, rms, times
from rheostat.forecast.models.perceptron import train

_SEEDS = 2**32
"""The number of seeds of numpy's generator; larger seeds wrap around."""

_CONSTANT = 1e-9
"""The deviation, as a share of the mean, up to which samples are constant: there is nothing to scale and to learn."""


class Neural:
    """A multi-layer perceptron from time to sample, with scikit-learn's defaults and a seed (PA-SPS's ANN).

    Time and samples are scaled to mean 0 and deviation 1 first: otherwise the training, with the defaults, would depend
    on the unit of the samples and seldom converge.
    """

    name: ClassVar[str] = "ann"
    summary: ClassVar[str] = "a multi-layer perceptron over time (PA-SPS: ANN)"
    least: ClassVar[int] = 10
    light: ClassVar[bool] = False

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed % _SEEDS

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        moments, future = times(samples, horizon)
        centre, scale = float(samples.mean()), float(samples.std())
        if scale <= _CONSTANT * centre:
            return ForecastPath(np.full(horizon, centre), np.zeros(horizon))
        past, coming = ((each - moments.mean()) / moments.std() for each in (moments, future))
        network = train(past, (samples - centre) / scale, self._seed)
        fitted, mean = (centre + scale * network.predict(each) for each in (past, coming))
        return ForecastPath(mean, extrapolated(rms(samples - fitted, parameters=2), len(samples), horizon))


class UnscaledNeural(Neural):
    """The same network on plain seconds and samples, as PA-SPS's authors run it: its forecast depends on the unit of
    the samples."""

    name: ClassVar[str] = "ann-unscaled"
    summary: ClassVar[str] = "the same without scaling, as published: depends on the unit of the samples"

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        moments, future = times(samples, horizon)
        network = train(moments, samples, self._seed)
        error = rms(samples - network.predict(moments), parameters=2)
        return ForecastPath(network.predict(future), extrapolated(error, len(samples), horizon))
