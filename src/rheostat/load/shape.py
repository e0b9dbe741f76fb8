"""Shape: the input rate as a function of time, and combinations of shapes.

morning = Sine(base=100, amplitude=50, period="1m") + Spike(base=10, factor=8, at="5m", duration="20s")
morning.rate_at(330), (2 * morning).peak("10m")
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rheostat.duration import Duration, human, seconds
from rheostat.errors import LoadError
from rheostat.load.fields import Array, Period, Rate, Span, check_fields, checked

_PIECES = 1000
_GAUSS_POINTS = 8
_MOST_BREAKPOINTS = 5_000_000
"""Beyond this, means and peaks would take too much time and memory."""


class Shape(ABC):
    """Tuples per second at each time of a run: finite and never negative, at any finite time.

    Shapes are frozen and deterministic: the rate at a time does not depend on earlier calls.
    """

    __array_ufunc__ = None  # so that numpy leaves `np.float64(2) * shape` to `__rmul__`

    def __post_init__(self) -> None:
        check_fields(self)

    @abstractmethod
    def _rates(self, times_s: Array) -> Array:
        """The rates at `times_s`, an array of any shape."""

    def breakpoints(self, until_s: float) -> Array:
        """Times before `until_s` at which the rate jumps, bends or has an extremum, in any order.

        Between them the curve is smooth, so that `mean` and `peak` miss no spike, however short. A shape that repeats
        too often before `until_s` is refused.
        """
        return np.empty(0)

    def rate_at(self, t_s: float) -> float:
        """The rate at `t_s` seconds after the start."""
        return float(self._rates(np.asarray(t_s, dtype=np.float64)))

    def rates(self, times_s: npt.ArrayLike) -> Array:
        """The rates at many times at once."""
        return np.asarray(self._rates(np.asarray(times_s, dtype=np.float64)), dtype=np.float64)

    def peak(self, until: Duration) -> float:
        """The highest rate from the start to `until`: exact at breakpoints, else to 1/1000 of `until`."""
        edges = self._edges(checked(until, Period, "until"))
        just_before = np.nextafter(edges[1:], 0.0)
        return float(self.rates(np.concatenate((edges[:-1], just_before))).max())

    def mean(self, until: Duration) -> float:
        """The mean rate from the start to `until`, by Gauss-Legendre quadrature between the breakpoints."""
        edges = self._edges(checked(until, Period, "until"))
        half = np.diff(edges) / 2
        middle = edges[:-1] + half
        points = zip(*np.polynomial.legendre.leggauss(_GAUSS_POINTS), strict=True)
        total = sum(weight * (half @ self.rates(middle + half * node)) for node, weight in points)
        return float(total / edges[-1])

    def delayed(self, by: Duration) -> "Shape":
        """This shape started `by` later; until then its initial rate."""
        return Delayed(self, by)

    def repeated(self, every: Duration) -> "Shape":
        """The first `every` of this shape, over and over."""
        return Repeated(self, every)

    def __add__(self, other: "Shape | float") -> "Shape":
        return Sum((self, as_shape(other)))

    def __mul__(self, other: "Shape | float") -> "Shape":
        return Product((self, as_shape(other)))

    __radd__ = __add__
    __rmul__ = __mul__

    def _edges(self, until_s: float) -> Array:
        times_s = self.breakpoints(until_s)
        inside = times_s[(times_s > 0) & (times_s < until_s)]
        return np.union1d(np.linspace(0, until_s, _PIECES + 1), inside)


@dataclass(frozen=True)
class Constant(Shape):
    """The same rate at all times."""

    rate: Rate

    def _rates(self, times_s: Array) -> Array:
        return np.full_like(times_s, self.rate)


@dataclass(frozen=True)
class Sum(Shape):
    """All parts at once: their rates added."""

    parts: tuple[Shape, ...]

    def _rates(self, times_s: Array) -> Array:
        total = np.zeros_like(times_s)
        for part in self.parts:
            total = total + part._rates(times_s)
        return total

    def breakpoints(self, until_s: float) -> Array:
        return _all_breakpoints(self.parts, until_s)


@dataclass(frozen=True)
class Product(Shape):
    """The parts' rates multiplied: one is the load, the others are factors that modulate it."""

    parts: tuple[Shape, ...]

    def _rates(self, times_s: Array) -> Array:
        product = np.ones_like(times_s)
        for part in self.parts:
            product = product * part._rates(times_s)
        return product

    def breakpoints(self, until_s: float) -> Array:
        return _all_breakpoints(self.parts, until_s)


@dataclass(frozen=True)
class Delayed(Shape):
    """A shape started `by` later; until then its initial rate."""

    shape: Shape
    by: Span

    def _rates(self, times_s: Array) -> Array:
        return self.shape._rates(np.maximum(times_s - seconds(self.by), 0.0))

    def breakpoints(self, until_s: float) -> Array:
        by_s = seconds(self.by)
        return np.append(self.shape.breakpoints(until_s - by_s) + by_s, by_s)


@dataclass(frozen=True)
class Repeated(Shape):
    """The first `every` of a shape, over and over."""

    shape: Shape
    every: Period

    def _rates(self, times_s: Array) -> Array:
        return self.shape._rates(np.mod(times_s, seconds(self.every)))

    def breakpoints(self, until_s: float) -> Array:
        every_s = seconds(self.every)
        once = self.shape.breakpoints(min(every_s, until_s))
        within = np.append(0.0, once[(once > 0) & (once < every_s)])
        refuse_too_many("Repeated every", every_s, until_s, len(within))
        begins_s = np.arange(0.0, until_s, every_s)
        return np.asarray(np.repeat(begins_s, len(within)) + np.tile(within, len(begins_s)))


def as_shape(load: Shape | float) -> Shape:
    """`load` itself, or the constant shape of that rate."""
    return load if isinstance(load, Shape) else Constant(load)


def refuse_too_many(what: str, every_s: float, until_s: float, breakpoints: int = 1) -> None:
    """Refuse `what`, which recurs every `every_s` with `breakpoints` each, if there are too many before `until_s`."""
    least_s = until_s * breakpoints / _MOST_BREAKPOINTS
    if every_s < least_s:
        raise LoadError(
            f"{what} {human(every_s)} is too short: it recurs {until_s / every_s:,.0f} times in {human(until_s)}; "
            f"give at least {human(least_s)}"
        )


def held(starts_s: Array, levels: Array, times_s: Array) -> Array:
    """The level that began last at each of `times_s`; before all of them, the first."""
    return np.asarray(levels[np.maximum(np.searchsorted(starts_s, times_s, side="right") - 1, 0)])


def _all_breakpoints(parts: tuple[Shape, ...], until_s: float) -> Array:
    return np.concatenate([np.empty(0), *(part.breakpoints(until_s) for part in parts)])
