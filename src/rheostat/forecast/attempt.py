"""Attempt: call a model that may fail in any way, and check its forecast."""

import numpy as np

from rheostat.errors import ConfigError
from rheostat.forecast.model import Floats, ForecastModel, ForecastPath

_RUNAWAY = 10.0
"""A forecast of more than this many times the largest sample counts as a failure of the model."""

_ROUNDING = 1e-9
"""Tolerance for curves through zeros only, which rounding may lift above zero."""


def attempt(model: ForecastModel, samples: Floats, horizon: int) -> tuple[ForecastPath | None, str]:
    """The model's path, or None and the reason. Only a missing library raises an error."""
    if len(samples) < model.least:
        return None, f"{len(samples)} samples are too few for {model.name}, which needs {model.least}"
    try:
        with np.errstate(all="ignore"):
            path = _of_length(horizon, model.predict(samples, horizon))
    except ConfigError:
        raise
    except Exception as error:
        return None, f"{model.name} failed ({error})"
    return (path, "") if _credible(path, samples) else (None, f"{model.name} diverged from the samples")


def _of_length(horizon: int, path: ForecastPath) -> ForecastPath:
    for values in (path.mean, path.error):
        if values.shape != (horizon,):
            raise ValueError(f"it gave values of shape {values.shape} for {horizon} steps")
    return path


def _credible(path: ForecastPath, samples: Floats) -> bool:
    finite = bool(np.isfinite(path.mean).all() and np.isfinite(path.error).all())
    return finite and float(path.mean.max()) <= _RUNAWAY * float(samples.max()) + _ROUNDING
