"""Regression over time by least squares: linear, logarithmic, exponential, best fit.

The straight line is PA-SPS's LR; AUTOSCALE+ (DABS-Storm, section 5) takes the best fit of the three.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from rheostat.forecast.model import Floats, ForecastPath, extrapolated, rms, times


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A fitted curve: its kind, its values at given times (1 is the first sample), and the error of the fit."""

    kind: str
    at: Callable[[Floats], Floats]
    error: float


def linear_curve(samples: Floats) -> Curve:
    """y = a + b·x."""
    moments, _ = times(samples, 0)
    offset, slope = _line(moments, samples)
    return _judged("linear", lambda x: offset + slope * x, samples)


def logarithmic_curve(samples: Floats) -> Curve:
    """y = a + b·ln x."""
    moments, _ = times(samples, 0)
    offset, slope = _line(np.log(moments), samples)
    return _judged("logarithmic", lambda x: offset + slope * np.log(x), samples)


def exponential_curve(samples: Floats) -> Curve:
    """y = a·eᵇˣ, fitted to the logarithms: the samples must be above zero."""
    if not np.all(samples > 0):
        raise ValueError(f"an exponential needs samples above 0, the least is {samples.min():g}")
    moments, _ = times(samples, 0)
    offset, slope = _line(moments, np.log(samples))
    return _judged("exponential", lambda x: np.exp(offset + slope * x), samples)


def best_curve(samples: Floats) -> Curve:
    """The one of the three with the least squared error; at equal errors the simplest."""
    curves = [linear_curve(samples), logarithmic_curve(samples)]
    if np.all(samples > 0):
        curves.append(exponential_curve(samples))
    return min(curves, key=lambda curve: curve.error * (1 + (curve.kind != "linear") * _TIE))


class _Fitting(Protocol):
    def __call__(self, samples: Floats) -> Curve: ...


class _Regression:
    """A curve as a model."""

    least: ClassVar[int] = 3
    light: ClassVar[bool] = True
    _fit: ClassVar[_Fitting]

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        curve = type(self)._fit(samples)
        _, future = times(samples, horizon)
        return ForecastPath(curve.at(future), extrapolated(curve.error, len(samples), horizon))


class Linear(_Regression):
    """Simple linear regression over time (PA-SPS's LR)."""

    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = "a straight line through the window (PA-SPS: LR)"
    _fit = staticmethod(linear_curve)


class Logarithmic(_Regression):
    """y = a + b·ln x: growth that slows down."""

    name: ClassVar[str] = "logarithmic"
    summary: ClassVar[str] = "a + b·ln x through the window (AUTOSCALE+)"
    _fit = staticmethod(logarithmic_curve)


class Exponential(_Regression):
    """y = a·eᵇˣ: growth or decay by a constant factor."""

    name: ClassVar[str] = "exponential"
    summary: ClassVar[str] = "a·exp(b·x) through the window (AUTOSCALE+)"
    _fit = staticmethod(exponential_curve)


class BestFit(_Regression):
    """The linear, logarithmic or exponential curve with the least squared error (AUTOSCALE+)."""

    name: ClassVar[str] = "best-fit"
    summary: ClassVar[str] = "the best fit of linear, logarithmic and exponential (AUTOSCALE+)"
    _fit = staticmethod(best_curve)


_TIE = 1e-9
"""By this share a curve must be better than the line, so that rounding does not decide between equal fits."""


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """Offset and slope of the least-squares line; a single point has no slope."""
    x_mean, y_mean = float(x.mean()), float(y.mean())
    away = x - x_mean
    squares = float(away @ away)
    slope = float(away @ (y - y_mean)) / squares if squares else 0.0
    return y_mean - slope * x_mean, slope


def _judged(kind: str, at: Callable[[Floats], Floats], samples: Floats) -> Curve:
    moments, _ = times(samples, 0)
    return Curve(kind, at, rms(samples - at(moments), parameters=2))
