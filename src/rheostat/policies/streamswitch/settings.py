"""Settings: δ, T and l of one operator, from the options, its SLA and what is measured.

On a micro-batch engine a batch without load lasts c = D(1 − ρ). δ must not be shorter than that, and l not below two of
them: the mean latency is about one and a half, so that with a smaller l every executor would stay unhealthy.
"""

import math
from dataclasses import dataclass

from rheostat.duration import human
from rheostat.errors import ConfigError
from rheostat.policies.streamswitch.model.capacity import Capacity
from rheostat.policies.streamswitch.model.executor import Thresholds
from rheostat.policies.streamswitch.options import StreamSwitchOptions

_MOST_OF_BOUND = 0.9
"""l as a share of L at most, unless it is given as an option."""

_JITTER = 0.1
"""Share of a period by which real turns may come early or late."""


@dataclass(frozen=True, slots=True)
class Timing:
    """A slot δ of `turns` periods of the loop, and a window T of `slots` slots."""

    slot_s: float
    turns: int
    slots: int


def timing(options: StreamSwitchOptions, window_s: float, period_s: float, batch_s: float | None = None) -> Timing:
    """For a loop that turns every `period_s`; a window that is no multiple of δ is rounded up to one."""
    slot_s, batch_s = options.slot_s, batch_s or 0.0
    if slot_s is None:
        turns = max(1, math.ceil(batch_s / period_s - _JITTER))
        slot_s = turns * period_s
    else:
        turns = round(slot_s / period_s)
        if turns < 1 or abs(slot_s - turns * period_s) > _JITTER * period_s:
            raise ConfigError(f"delta {human(slot_s)} must be a multiple of the loop's period of {human(period_s)}")
        if slot_s < batch_s:
            raise ConfigError(f"delta {human(slot_s)} is shorter than a batch: choose {human(batch_s)} or more")
    return Timing(slot_s, turns, max(1, math.ceil(window_s / slot_s - _JITTER)))


def thresholds(options: StreamSwitchOptions, latency_s: float, usual: Capacity) -> Thresholds:
    """l and L of an operator with bound `latency_s`, whose executors have the capacity `usual` on average.

    The default of l is a tenth of L, as in the paper, but no less than the latency of an executor that is as loaded as
    L allows: otherwise nothing could be scaled in.
    """
    batch_s, alert_s = usual.batch_cost_s, options.alert_s
    least_s = least_bound_s(batch_s)
    if least_s >= latency_s:
        raise ConfigError(
            f"a latency bound of {human(latency_s)} cannot be met: a batch lasts {human(batch_s or 0)} even without "
            f"load, and the bound must be more than twice that ({human(least_s)})"
        )
    if alert_s is None:
        enough_s = max(latency_s / 10, 2 / usual.service_rate, usual.latency_at_s(latency_s))
        return Thresholds(max(least_s, min(enough_s, _MOST_OF_BOUND * latency_s)), latency_s)
    if alert_s < least_s:
        raise ConfigError(f"l {options.l!r} is below two batches: choose {human(least_s)} or more")
    if alert_s >= latency_s:
        raise ConfigError(f"l {options.l!r} must be below the latency bound of {human(latency_s)}")
    return Thresholds(alert_s, latency_s)


def least_bound_s(batch_s: float | None) -> float:
    """The bound that L must exceed: two batches."""
    return 2 * (batch_s or 0.0)
