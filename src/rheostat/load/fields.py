"""Field types of load shapes: msgspec types that describe valid values, checked for values from Python and from files.

A shape is a frozen dataclass with these field types: `period: Period`, for example, takes "5m" or 300 and holds 300.0.
"""

import sys
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, get_type_hints

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from rheostat.duration import Duration, positive_seconds, seconds
from rheostat.errors import LoadError

Array = npt.NDArray[np.float64]

_LARGEST = sys.float_info.max
_DURATION = 'a duration: give seconds, or text like "500ms" or "5m"'

Finite = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST, description="a finite number")]
Rate = Annotated[float, Meta(ge=0, le=_LARGEST, description="a finite number >= 0")]
"""Tuples per second, or a factor."""
Rates = Annotated[tuple[Rate, ...], Meta(min_length=1, description="a list of finite numbers >= 0, at least one")]
Share = Annotated[float, Meta(ge=0, le=1, description="a share: give a number from 0 to 1")]
Whole = Annotated[int, Meta(description="a whole number")]
Count = Annotated[int, Meta(ge=1, description="a whole number >= 1")]
Parts = Annotated[tuple[Any, ...], Meta(min_length=1, description="a list with at least one entry")]
Span = Annotated[Duration, Meta(description=_DURATION, extra={"read": seconds})]
"""A duration that may be zero, held in seconds."""
Period = Annotated[Duration, Meta(description=_DURATION, extra={"read": positive_seconds})]
"""A duration longer than zero, held in seconds."""


def checked(value: object, kind: Any, what: str) -> Any:
    """`value` as a field of type `kind` holds it; the error names `what`, the value and what would be right."""
    [meta] = kind.__metadata__
    try:
        converted = msgspec.convert(_plain(value), kind)
    except msgspec.ValidationError:
        raise LoadError(f"{what} {value!r} is not {meta.description}") from None
    return meta.extra["read"](converted, what) if meta.extra else converted


def check_fields(shape: object) -> None:
    """Check and convert all fields of a frozen dataclass that have one of these types."""
    shape_type: type = type(shape)
    for name, kind in _kinds(shape_type).items():
        object.__setattr__(shape, name, checked(getattr(shape, name), kind, f"{type(shape).__name__} {name}"))


def series(values: npt.ArrayLike, what: str) -> Array:
    """A read-only copy of `values`, which must be finite numbers >= 0, at least one."""
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


@cache
def _kinds(shape: type) -> dict[str, Any]:
    hints = get_type_hints(shape, include_extras=True)
    return {each.name: hints[each.name] for each in fields(shape) if hasattr(hints[each.name], "__metadata__")}


def _plain(value: object) -> object:
    """`value` with Python numbers in place of numpy's."""
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
