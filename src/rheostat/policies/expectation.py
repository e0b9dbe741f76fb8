"""Expectation: a policy's forecast of the input, to be compared with what arrived."""

from typing import Protocol, runtime_checkable

import msgspec


class Expectation(msgspec.Struct, frozen=True):
    """So many `events` enter between two times, and between `low` and `high` where the forecast says so."""

    from_s: float
    until_s: float
    events: float
    low: float | None = None
    high: float | None = None


@runtime_checkable
class Expecting(Protocol):
    """A policy that forecasts the input; `expectation` is its latest forecast, None before the first."""

    @property
    def expectation(self) -> Expectation | None: ...
