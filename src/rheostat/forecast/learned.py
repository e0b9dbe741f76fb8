"""scikit-learn's regressors over time, which PA-SPS uses with their defaults.

The library is imported when a model is made: it takes seconds, and only these two need it.
"""

import warnings
from importlib import import_module
from typing import Any, ClassVar

from rheostat.errors import ConfigError
from rheostat.forecast.model import Floats, Path, extrapolated, rms, times

_SEEDS = 2**32
"""How many seeds scikit-learn knows; larger ones begin anew."""


class Neural:
    """A multi-layer perceptron from time to sample, with scikit-learn's defaults and a seed (PA-SPS's ANN).

    Time and samples are brought to mean 0 and deviation 1 first: with the defaults the training would otherwise
    depend on the unit of the samples, and seldom arrive.
    """

    name: ClassVar[str] = "ann"
    summary: ClassVar[str] = "a multi-layer perceptron over time (PA-SPS: ANN; needs scikit-learn)"
    least: ClassVar[int] = 10
    light: ClassVar[bool] = False

    def __init__(self, seed: int = 0) -> None:
        self._regressor = _sklearn("neural_network", "MLPRegressor")
        self._seed = seed % _SEEDS

    def ahead(self, samples: Floats, horizon: int) -> Path:
        moments, future = times(samples, horizon)
        centre, scale = float(samples.mean()), float(samples.std()) or 1.0
        spread = float(moments.std())
        past, coming = ((x[:, None] - moments.mean()) / spread for x in (moments, future))
        network = self._regressor(random_state=self._seed)
        _quietly_fit(network, past, (samples - centre) / scale)
        fitted, mean = (centre + scale * network.predict(x) for x in (past, coming))
        return Path(mean, extrapolated(rms(samples - fitted, parameters=2), len(samples), horizon))


class Forest:
    """A random forest from time to sample, with scikit-learn's defaults and a seed (PA-SPS's RF).

    Trees do not extrapolate: the forecast is what they make of the end of the window. Its error is that of the
    trees on samples they were not shown.
    """

    name: ClassVar[str] = "forest"
    summary: ClassVar[str] = "a random forest over time (PA-SPS: RF; needs scikit-learn)"
    least: ClassVar[int] = 10
    light: ClassVar[bool] = False

    def __init__(self, seed: int = 0) -> None:
        self._regressor = _sklearn("ensemble", "RandomForestRegressor")
        self._seed = seed % _SEEDS

    def ahead(self, samples: Floats, horizon: int) -> Path:
        moments, future = times(samples, horizon)
        forest = self._regressor(random_state=self._seed, oob_score=True)
        _quietly_fit(forest, moments[:, None], samples)
        unseen = samples - forest.oob_prediction_
        return Path(forest.predict(future[:, None]), extrapolated(rms(unseen), len(samples), horizon))


def _sklearn(module: str, name: str) -> Any:
    """A class of scikit-learn's."""
    try:
        return getattr(import_module(f"sklearn.{module}"), name)
    except ImportError:
        raise ConfigError("the models ann and forest need scikit-learn: pip install 'rheostat[learn]'") from None


def _quietly_fit(regressor: Any, moments: Floats, samples: Floats) -> None:
    """The defaults end the training of a network before it has converged, and say so each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regressor.fit(moments, samples)
