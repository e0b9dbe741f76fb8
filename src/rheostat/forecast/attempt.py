"""To ask a model of any author, which may fail in any way."""

import numpy as np

from rheostat.errors import ConfigError
from rheostat.forecast.model import Floats, Model, Path

_RUNAWAY = 10.0
"""A forecast of more than so many times the largest sample is taken as a model that lost its way."""

_ROUNDING = 1e-9
"""Through nothing but zeros a curve may come out a hair above them."""


def attempt(model: Model, samples: Floats, horizon: int) -> tuple[Path | None, str]:
    """The model's path, or None and why there is none. Only a library that is missing is an error."""
    if len(samples) < model.least:
        return None, f"{len(samples)} samples are too few for {model.name}, which needs {model.least}"
    try:
        with np.errstate(all="ignore"):
            path = _of_length(horizon, model.ahead(samples, horizon))
    except ConfigError:
        raise
    except Exception as error:
        return None, f"{model.name} failed ({error})"
    return (path, "") if _credible(path, samples) else (None, f"{model.name} ran away from the samples")


def _of_length(horizon: int, path: Path) -> Path:
    for values in (path.mean, path.error):
        if values.shape != (horizon,):
            raise ValueError(f"it gave values of shape {values.shape} for {horizon} steps")
    return path


def _credible(path: Path, samples: Floats) -> bool:
    finite = bool(np.isfinite(path.mean).all() and np.isfinite(path.error).all())
    return finite and float(path.mean.max()) <= _RUNAWAY * float(samples.max()) + _ROUNDING
