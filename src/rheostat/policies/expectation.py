"""What a policy expects of the input, so that afterwards it can be compared with what came."""

from typing import Protocol, runtime_checkable

import msgspec


class Expectation(msgspec.Struct, frozen=True):
    """So many `events` from outside between two moments."""

    from_s: float
    until_s: float
    events: float


@runtime_checkable
class Expecting(Protocol):
    """A policy that forecasts the input; `expectation` is its latest forecast, None before the first."""

    @property
    def expectation(self) -> Expectation | None: ...
