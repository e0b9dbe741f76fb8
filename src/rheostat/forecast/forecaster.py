"""A model that can be relied on: its forecasts are finite and not negative, whatever the model does."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from rheostat.errors import ConfigError
from rheostat.forecast.basic import Basic
from rheostat.forecast.model import Floats, Model, Path

_RUNAWAY = 10.0
"""A forecast of more than so many times the largest sample is taken as a model that lost its way."""

_ROUNDING = 1e-9
"""Through nothing but zeros a curve may come out a hair above them."""


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Expected samples, one for each step ahead, between `low` and `high` with the forecaster's probability.

    `model` made it. `problem` says why it is not the model asked for.
    """

    mean: Floats
    low: Floats
    high: Floats
    model: str
    problem: str | None = None

    @property
    def total(self) -> float:
        """The sum over all steps: the events of the interval, when samples are events per step."""
        return float(self.mean.sum())


class Forecaster:
    """Forecasts by `model`, or by Basic where that fails, runs away, or has too few samples.

    `level` is the probability with which a value is expected between low and high.
    """

    def __init__(self, model: Model, *, level: float = 0.8) -> None:
        if not 0 < level < 1:
            raise ConfigError(f"level {level!r} must be a probability between 0 and 1, e.g. 0.8")
        self.model = model
        self.level = level
        self._width = NormalDist().inv_cdf((1 + level) / 2)

    def forecast(self, samples: ArrayLike, horizon: int) -> Forecast:
        """What follows `samples` (equal distances, the latest last; at least one) in the next `horizon` steps."""
        if horizon < 1:
            raise ConfigError(f"horizon {horizon!r} must be a number of steps >= 1")
        known = checked(samples)
        path, problem = _attempt(self.model, known, horizon)
        if path is None:
            return self._bounded(Basic().ahead(known, horizon), Basic.name, f"{problem}: basic instead")
        return self._bounded(path, self.model.name, None)

    def _bounded(self, path: Path, name: str, problem: str | None) -> Forecast:
        reach = self._width * path.error
        low, mean, high = (np.maximum(values, 0.0) for values in (path.mean - reach, path.mean, path.mean + reach))
        return Forecast(mean, low, high, name, problem)


def checked(samples: ArrayLike) -> Floats:
    """The samples as an array; what cannot be one is refused with its position and value."""
    known = np.asarray(samples, dtype=float)
    if known.ndim != 1 or len(known) == 0:
        raise ConfigError(f"samples of shape {known.shape} cannot be continued: give a list of at least one number")
    wrong = ~(np.isfinite(known) & (known >= 0))
    if wrong.any():
        position = int(np.argmax(wrong))
        raise ConfigError(f"sample {position} is {known[position]:g}: samples must be finite numbers, 0 or more")
    return known


def _attempt(model: Model, samples: Floats, horizon: int) -> tuple[Path | None, str]:
    """The model's path, or None and why there is none. A model of any author may fail in any way."""
    if len(samples) < model.least:
        return None, f"{len(samples)} samples are too few for {model.name}, which needs {model.least}"
    try:
        with np.errstate(all="ignore"):
            path = model.ahead(samples, horizon)
    except ConfigError:
        raise
    except Exception as error:
        return None, f"{model.name} failed ({error})"
    return (path, "") if _credible(path, samples) else (None, f"{model.name} ran away from the samples")


def _credible(path: Path, samples: Floats) -> bool:
    finite = bool(np.isfinite(path.mean).all() and np.isfinite(path.error).all())
    return finite and float(path.mean.max()) <= _RUNAWAY * float(samples.max()) + _ROUNDING
