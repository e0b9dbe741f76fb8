"""Registry: the forecasting models by name."""

from collections.abc import Callable, Mapping

from rheostat.errors import ConfigError, nearest
from rheostat.forecast.model import ForecastModel
from rheostat.forecast.models.autoregression import Autoregression
from rheostat.forecast.models.basic import Basic
from rheostat.forecast.models.forest import Forest
from rheostat.forecast.models.fourier import Fourier, FourierWithTrend
from rheostat.forecast.models.holt_winters import HoltWinters
from rheostat.forecast.models.neural import Neural, UnscaledNeural
from rheostat.forecast.models.regression import BestFit, Exponential, Linear, Logarithmic
from rheostat.forecast.models.seasonal_naive import SeasonalNaive
from rheostat.forecast.models.select import Select

MODELS: Mapping[str, type[ForecastModel]] = {
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
        FourierWithTrend,
        UnscaledNeural,
        Select,
    )
}
"""In the order of help texts: PA-SPS's five, AUTOSCALE+'s, and the others."""


def make_model(name: str, seed: int = 0) -> ForecastModel:
    """The model called `name`; `seed` is for models that use random numbers."""
    if name not in MODELS:
        raise ConfigError(f"no forecasting model is called {name!r}; {nearest(name, MODELS)}")
    made: Callable[..., ForecastModel] = MODELS[name]
    return made(seed=seed) if name in (Neural.name, UnscaledNeural.name, Forest.name) else made()
