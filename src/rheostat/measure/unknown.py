"""Unknown values: arithmetic in which None stays None."""

from collections.abc import Sequence


def either(first: float | None, second: float | None) -> float | None:
    """The first one that is known."""
    return second if first is None else first


def total(values: Sequence[float | None]) -> float | None:
    """The sum; None when one of `values` is not known, or when there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def growth(now: int | None, before: int | None) -> int | None:
    """Of a cumulative counter; None when one value is not known, or when the counter fell."""
    return None if now is None or before is None or now < before else now - before
