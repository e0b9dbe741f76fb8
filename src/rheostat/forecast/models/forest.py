"""Random forest over time (PA-SPS's RF): scikit-learn's, imported on use, since that takes seconds."""

import warnings
from importlib import import_module
from typing import Any, ClassVar

from rheostat.errors import ConfigError
from rheostat.forecast.model import Floats, ForecastPath, extrapolated, rms, times

_SEEDS = 2**32
"""The number of seeds of scikit-learn; larger seeds wrap around."""


class Forest:
    """A random forest from time to sample, with scikit-learn's defaults and a seed (PA-SPS's RF).

    Trees do not extrapolate: the forecast is their value at the end of the window. Its error is the out-of-bag error.
    """

    name: ClassVar[str] = "forest"
    summary: ClassVar[str] = "a random forest over time (PA-SPS: RF; needs scikit-learn)"
    least: ClassVar[int] = 10
    light: ClassVar[bool] = False

    def __init__(self, seed: int = 0) -> None:
        self._regressor = _regressor()
        self._seed = seed % _SEEDS

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        moments, future = times(samples, horizon)
        forest = self._regressor(random_state=self._seed, oob_score=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on few samples some are in every tree
            forest.fit(moments[:, None], samples)
        unseen = samples - forest.oob_prediction_
        return ForecastPath(forest.predict(future[:, None]), extrapolated(rms(unseen), len(samples), horizon))


def _regressor() -> Any:
    try:
        return import_module("sklearn.ensemble").RandomForestRegressor
    except ImportError:
        raise ConfigError("the model forest needs scikit-learn: pip install 'rheostat[learn]'") from None
