"""Options of StreamSwitch; what is left out follows from the SLA and from what is measured."""

from typing import Annotated

import msgspec

from rheostat.duration import positive_seconds
from rheostat.errors import ConfigError
from rheostat.policies.policy import PolicyOptions

Time = str | float


class StreamSwitchOptions(PolicyOptions, frozen=True, kw_only=True):
    """The names are those of the paper. Arrival rates are windowed and service rates averaged by η, so that
    `smoothing` changes nothing here."""

    epsilon: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            lt=1,
            description="Share of the measured capacity of an executor, from 0 to below 1, that is kept in "
            "reserve. Raise it if latency rises before executors are added, lower it to run with fewer.",
        ),
    ] = 0.2
    eta: Annotated[
        float,
        msgspec.Meta(
            gt=0,
            le=1,
            description="Weight of the newest measurement in the service rate of an executor, above 0 and up to 1. "
            "Raise it if the cost of a record changes quickly, lower it if measurements are noisy.",
        ),
    ] = 0.125
    l: Annotated[  # noqa: E741
        Time | None,
        msgspec.Meta(
            description="Latency of an executor, as a duration, from which it counts as overloaded if its load is "
            "too high as well. Left out, a tenth of `L`, or more where records or batches take long. Raise it if "
            "substreams are moved without need."
        ),
    ] = None
    L: Annotated[
        Time | dict[str, Time] | None,
        msgspec.Meta(
            description="Latency that every operator has to keep, as a duration, or that of each by its name "
            '({"count": "1s"}). Left out, its SLA, or its share of the end-to-end SLA, adjusted while it runs. Set '
            "it if operators need bounds other than those."
        ),
    ] = None
    T: Annotated[
        Time | None,
        msgspec.Meta(
            description="Time over which rates and latencies are averaged, as a duration. Left out, the window of "
            "the SLA. Lengthen it if substreams are moved to and fro."
        ),
    ] = None
    delta: Annotated[
        Time | None,
        msgspec.Meta(
            description="Time between two looks at the executors, as a duration that is a multiple of the loop's "
            "period. Left out, the shortest that is no shorter than a batch. Lengthen it for calmer decisions."
        ),
    ] = None

    def __post_init__(self) -> None:
        alert_s, bound_s, window_s, slot_s = self.alert_s, self.bound_s(""), self.window_s, self.slot_s
        for name in self.L if isinstance(self.L, dict) else ():
            self.bound_s(name)
        if alert_s is not None and bound_s is not None and alert_s >= bound_s:
            raise ConfigError(f"l {self.l!r} must be below L {self.L!r}")
        if window_s is not None and slot_s is not None:
            slots = window_s / slot_s
            if slots < 1 - 1e-9 or abs(slots - round(slots)) > 1e-6:
                raise ConfigError(f"T {self.T!r} must be a multiple of delta {self.delta!r}")

    @property
    def alert_s(self) -> float | None:
        return None if self.l is None else positive_seconds(self.l, "l")

    @property
    def window_s(self) -> float | None:
        return None if self.T is None else positive_seconds(self.T, "T")

    @property
    def slot_s(self) -> float | None:
        return None if self.delta is None else positive_seconds(self.delta, "delta")

    def bound_s(self, operator: str) -> float | None:
        """L of `operator`, if it is given."""
        given = self.L.get(operator) if isinstance(self.L, dict) else self.L
        return None if given is None else positive_seconds(given, "L")
