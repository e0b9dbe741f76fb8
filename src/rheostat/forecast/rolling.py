"""Rolling-origin evaluation: forecasts from many points of a series, each from the samples before it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from rheostat.errors import ConfigError
from rheostat.forecast.forecaster import Forecast, Forecaster, checked
from rheostat.forecast.model import Floats

Progress = Callable[[], None]
"""Called after each origin."""


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of the forecasts of a model, as shares of the true values: `mape` by step (zeros left out), `wape` and
    `bias` overall (positive: too high), `interval_mape` of the sums over each horizon, as in PA-SPS.

    `pinball` is the mean loss of low, mean and high as quantiles, in the unit of the samples. `coverage` is the share
    of the true values between low and high, to be compared with `level`. `fit_s` is the time of one forecast.
    `fallbacks` counts the forecasts that another model had to make, by the reason.
    """

    model: str
    origins: int
    mape: float | None
    wape: float | None
    bias: float | None
    interval_mape: float | None
    pinball: float
    coverage: float
    level: float
    fit_s: float
    fallbacks: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Rolling:
    """The forecasts of one model: row i starts at `origins[i]`; `truth` are the true values."""

    forecaster: Forecaster
    origins: tuple[int, ...]
    forecasts: tuple[Forecast, ...]
    truth: Floats
    elapsed_s: float

    @property
    def mean(self) -> Floats:
        return np.array([forecast.mean for forecast in self.forecasts])

    def scores(self) -> Scores:
        low, high = (np.array([getattr(f, bound) for f in self.forecasts]) for bound in ("low", "high"))
        tail = (1 - self.forecaster.level) / 2
        bounds = ((low, tail), (self.mean, 0.5), (high, 1 - tail))
        return Scores(
            model=self.forecaster.model.name,
            origins=len(self.origins),
            mape=mape(self.truth, self.mean),
            wape=wape(self.truth, self.mean),
            bias=bias(self.truth, self.mean),
            interval_mape=mape(self.truth.sum(axis=1), self.mean.sum(axis=1)),
            pinball=float(np.mean([pinball(self.truth, bound, quantile) for bound, quantile in bounds])),
            coverage=coverage(self.truth, low, high),
            level=self.forecaster.level,
            fit_s=self.elapsed_s / len(self.origins),
            fallbacks=dict(Counter(f.problem for f in self.forecasts if f.problem is not None)),
        )


def roll(
    forecaster: Forecaster,
    series: ArrayLike,
    *,
    window: int = 100,
    horizon: int = 30,
    stride: int | None = None,
    progress: Progress | None = None,
) -> Rolling:
    """Forecast `horizon` steps from every `stride`-th origin (by default every horizon) that has a full window
    before and a full horizon after it. Each forecast uses only the `window` samples before its origin."""
    known = checked(series)
    origins = origins_in(len(known), window, horizon, stride or horizon)
    forecasts, elapsed_s = [], 0.0
    for origin in origins:
        before = known[origin - window : origin].copy()
        start_s = perf_counter()
        forecasts.append(forecaster.forecast(before, horizon))
        elapsed_s += perf_counter() - start_s
        if progress is not None:
            progress()
    truth = np.array([known[origin : origin + horizon] for origin in origins])
    return Rolling(forecaster, tuple(origins), tuple(forecasts), truth, elapsed_s)


def origins_in(length: int, window: int, horizon: int, stride: int) -> range:
    """The origins of the forecasts; a series that is too short is refused."""
    for what, value in (("window", window), ("horizon", horizon), ("stride", stride)):
        if value < 1:
            raise ConfigError(f"{what} {value!r} must be a number of samples >= 1")
    if length < window + horizon:
        raise ConfigError(
            f"{length} samples are too few for a window of {window} and a horizon of {horizon}: "
            f"give at least {window + horizon}, or shorten them"
        )
    return range(window, length - horizon + 1, stride)


def mape(truth: Floats, forecast: Floats) -> float | None:
    """The mean of |forecast − truth| / truth where the truth is not zero; None if it always is."""
    some = truth > 0
    return float(np.mean(np.abs(forecast[some] - truth[some]) / truth[some])) if some.any() else None


def wape(truth: Floats, forecast: Floats) -> float | None:
    """Σ|forecast − truth| / Σ truth: values count by their size."""
    return _share(np.abs(forecast - truth).sum(), truth.sum())


def bias(truth: Floats, forecast: Floats) -> float | None:
    """Σ(forecast − truth) / Σ truth: above 0 the forecast was too high."""
    return _share((forecast - truth).sum(), truth.sum())


def pinball(truth: Floats, forecast: Floats, quantile: float) -> float:
    """The mean loss of `forecast` as a quantile: a unit too low costs `quantile`, a unit too high 1 − `quantile`."""
    missed = truth - forecast
    return float(np.mean(np.maximum(quantile * missed, (quantile - 1) * missed)))


def coverage(truth: Floats, low: Floats, high: Floats) -> float:
    """The share of the true values within the bounds."""
    return float(np.mean((low <= truth) & (truth <= high)))


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None
