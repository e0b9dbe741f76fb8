"""Forecasts of input rates: from a window of samples to the steps after it, with an interval of uncertainty.

    forecaster = Forecaster(make_model("holt-winters"))
    forecast = forecaster.forecast(samples, horizon=30)
    forecast.total, forecast.low, forecast.high, forecast.problem

`MODELS` lists the models by name.
"""

from rheostat.forecast.forecaster import Forecast, Forecaster
from rheostat.forecast.model import Model, Path
from rheostat.forecast.named import MODELS, make_model

__all__ = ["MODELS", "Forecast", "Forecaster", "Model", "Path", "make_model"]
