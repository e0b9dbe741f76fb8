"""Fields of a load shape that check what they are given, whether it comes from Python or from a file.

A shape is a frozen dataclass whose fields are descriptors: `period: Period = Period()` takes "5m" or 300 and
reads back 300.0; `Period("5m")` has a default. Durations read back in seconds.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from rheostat.duration import Duration, human, positive_seconds, seconds
from rheostat.errors import LoadError

Array = npt.NDArray[np.float64]

Given = TypeVar("Given", contravariant=True)
Kept = TypeVar("Kept", covariant=True)


def finite(value: object, what: str) -> float:
    """`value` as a finite float; `what` names it in the error message."""
    if isinstance(value, bool) or not isinstance(value, Real) or not _is_finite(value):
        raise LoadError(f"{what} {value!r} is not a finite number")
    return float(value)


def amount(value: object, what: str) -> float:
    """`value` as a finite float that is not negative."""
    number = finite(value, what)
    if number < 0:
        raise LoadError(f"{what} {value!r} is negative: give a number >= 0")
    return number


def share(value: object, what: str) -> float:
    """`value` as a float between 0 and 1."""
    number = finite(value, what)
    if not 0 <= number <= 1:
        raise LoadError(f"{what} {value!r} is not a share: give a number from 0 to 1")
    return number


def whole(value: object, what: str, least: int | None = None) -> int:
    """`value` as an int that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or (least is not None and value < least):
        raise LoadError(f"{what} {value!r} is not a whole number" + ("" if least is None else f" >= {least}"))
    return int(value)


def span(value: object, what: str) -> float:
    """`value` in seconds, zero or longer."""
    return finite(seconds(_written(value, what), what), what)


def period(value: object, what: str) -> float:
    """`value` in seconds, longer than zero."""
    return finite(positive_seconds(_written(value, what), what), what)


def listed(values: object, what: str) -> tuple[Any, ...]:
    """`values` as a tuple with at least one entry; a string is not a list."""
    if not isinstance(values, list | tuple) or not values:
        raise LoadError(f"{what} {values!r} is not a list with at least one entry")
    return tuple(values)


def amounts(values: object, what: str) -> tuple[float, ...]:
    """`values` as finite floats, none of them negative."""
    return tuple(amount(value, what) for value in listed(values, what))


def steps(values: object, what: str) -> tuple[tuple[float, float], ...]:
    """`values` as pairs (seconds, rate) that start at 0 and get later and later."""
    pairs = tuple(_step(value, what) for value in listed(values, what))
    if pairs[0][0] != 0:
        raise LoadError(f"{what} begin at {human(pairs[0][0])}: begin at 0, with the rate until then")
    for (before_s, _), (after_s, _) in pairwise(pairs):
        if after_s <= before_s:
            raise LoadError(f"{what} have {human(after_s)} after {human(before_s)}: give each time once, in order")
    return pairs


def series(values: npt.ArrayLike, what: str) -> Array:
    """A read-only copy of `values` as finite floats, none of them negative, at least one."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise LoadError(f"{what} {values!r} is not a list of numbers") from None
    if array.ndim != 1 or array.size == 0:
        raise LoadError(f"{what} of shape {array.shape} is not a list with at least one entry")
    wrong = array[~(np.isfinite(array) & (array >= 0))]
    if wrong.size:
        raise LoadError(f"{what} has {wrong[0]:g}: give finite numbers >= 0")
    array.flags.writeable = False
    return array


class _Checked(ABC, Generic[Given, Kept]):
    def __init__(self, *default: Given) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, shape: object | None, owner: type | None = None) -> Kept:
        if shape is None:
            return self._class_default()
        kept: Kept = vars(shape)[self._name]
        return kept

    def __set__(self, shape: object, value: Given) -> None:
        vars(shape)[self._name] = self.check(value, f"{type(shape).__name__} {self._name}")

    def _class_default(self) -> Kept:
        # `dataclass` asks the class for the field's default, and takes AttributeError for "there is none".
        if not self._default:
            raise AttributeError(self._name)
        return self.check(self._default[0], self._name)

    @staticmethod
    @abstractmethod
    def check(value: Given, what: str, /) -> Kept:
        """What is kept of `value`; raises an error that starts with `what`."""


class Finite(_Checked[float, float]):
    """A number of either sign."""

    check = staticmethod(finite)


class Amount(_Checked[float, float]):
    """A rate (tuples/s) or a factor: a number >= 0."""

    check = staticmethod(amount)


class Amounts(_Checked[Sequence[float], tuple[float, ...]]):
    """One or more amounts."""

    check = staticmethod(amounts)


class Share(_Checked[float, float]):
    """A number from 0 to 1."""

    check = staticmethod(share)


class Whole(_Checked[int, int]):
    """A whole number."""

    check = staticmethod(whole)


class Span(_Checked[Duration, float]):
    """A duration that may be zero, kept in seconds."""

    check = staticmethod(span)


class Period(_Checked[Duration, float]):
    """A duration longer than zero, kept in seconds."""

    check = staticmethod(period)


class Steps(_Checked[Sequence[tuple[Duration, float]], tuple[tuple[float, float], ...]]):
    """Pairs (time, rate), kept as (seconds, tuples/s)."""

    check = staticmethod(steps)


class Series(_Checked[npt.ArrayLike, Array]):
    """One or more amounts as a read-only array."""

    check = staticmethod(series)


def _step(value: object, what: str) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise LoadError(f"{what} {value!r} is not a pair: write [time, rate]")
    return span(value[0], f"{what} time"), amount(value[1], f"{what} rate")


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def _written(value: object, what: str) -> Duration:
    if isinstance(value, str):
        return value
    return finite(value, what)
