"""The forecasting models by name."""

from collections.abc import Callable, Mapping

from rheostat.errors import ConfigError, nearest
from rheostat.forecast.autoregression import Autoregression
from rheostat.forecast.basic import Basic
from rheostat.forecast.forest import Forest
from rheostat.forecast.fourier import Fourier
from rheostat.forecast.holt_winters import HoltWinters
from rheostat.forecast.model import Model
from rheostat.forecast.neural import Neural
from rheostat.forecast.regression import BestFit, Exponential, Linear, Logarithmic
from rheostat.forecast.seasonal import SeasonalNaive
from rheostat.forecast.select import Select

MODELS: Mapping[str, type[Model]] = {
    model.name: model
    for model in (
        Basic,
        Linear,
        Fourier,
        Neural,
        Forest,
        Logarithmic,
        Exponential,
        BestFit,
        SeasonalNaive,
        HoltWinters,
        Autoregression,
        Select,
    )
}
"""In the order of a help text: PA-SPS's five, AUTOSCALE+'s, and the others."""


def make_model(name: str, seed: int = 0) -> Model:
    """The model called `name`; `seed` is for those that draw."""
    if name not in MODELS:
        raise ConfigError(f"no forecasting model is called {name!r}; {nearest(name, MODELS)}")
    made: Callable[..., Model] = MODELS[name]
    return made(seed=seed) if name in (Neural.name, Forest.name) else made()
