"""Arithmetic in which None is unknown, and unknown stays unknown."""

from collections.abc import Iterable


def either(first: float | None, second: float | None) -> float | None:
    """The first one that is known."""
    return second if first is None else first


def total(values: Iterable[float | None]) -> float | None:
    """The sum; None when one of `values` is not known, or when there are none."""
    known = list(values)
    summands = [value for value in known if value is not None]
    return sum(summands) if summands and len(summands) == len(known) else None
