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
        float, msgspec.Meta(ge=0, lt=1, description="safety margin ε: an executor is trusted with (1-ε) of its rate")
    ] = 0.2
    eta: Annotated[
        float, msgspec.Meta(gt=0, le=1, description="weight η of the newest measurement in the service rate")
    ] = 0.125
    l: Annotated[  # noqa: E741
        Time | None,
        msgspec.Meta(
            description="alert threshold of measured latency; left out: a tenth of L, and at least that of an "
            "executor as loaded as L allows, twice a service time, and twice a batch"
        ),
    ] = None
    L: Annotated[
        Time | dict[str, Time] | None,
        msgspec.Meta(
            description="latency bound of every operator, or of each by its name; left out: its SLA, or its share "
            "of an end-to-end one, adjusted at run time"
        ),
    ] = None
    T: Annotated[
        Time | None, msgspec.Meta(description="window of rates and latencies; left out: the window of the SLA")
    ] = None
    delta: Annotated[
        Time | None,
        msgspec.Meta(
            description="time slot δ, a multiple of the loop's period; left out: the shortest "
            "that is no shorter than a batch"
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
