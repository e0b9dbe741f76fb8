"""Forecasts of input rates: from a window of samples to the next steps, with a prediction interval.

    forecaster = Forecaster(make_model("holt-winters"))
    forecast = forecaster.forecast(samples, horizon=30)
    forecast.total, forecast.low, forecast.high, forecast.problem

`MODELS` lists the models by name.
"""

from rheostat.forecast.forecaster import Forecast, Forecaster
from rheostat.forecast.model import ForecastModel, ForecastPath
from rheostat.forecast.registry import MODELS, make_model

__all__ = ["MODELS", "Forecast", "ForecastModel", "ForecastPath", "Forecaster", "make_model"]
