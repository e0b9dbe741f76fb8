"""When DRS may look and act: T_m between two looks, T_ra between two acts, and never on measures of another plan."""

import math

from rheostat.duration import human
from rheostat.names import PoolName
from rheostat.policies.observation import Observation

_ROUNDING_S = 1e-9


class Pace:
    """Follows the plans it is shown. An act is a change of sizes. T_ra counts from the last one, and from the first
    observation before there was one (the paper's figure 8). Smoothed measures count once they cover only time under
    the sizes in force.
    """

    def __init__(self, t_ra_s: float, t_m_s: float, smoothing: str) -> None:
        self._t_ra_s, self._t_m_s = t_ra_s, t_m_s
        self._smoothed_over = periods_smoothed(smoothing)
        self._whole_periods: float = math.inf
        self._sizes: dict[PoolName, int] | None = None
        self._becoming_real = False
        self._seen_s = self._act_s = 0.0
        self._looked_s = -math.inf

    def see(self, observation: Observation) -> None:
        """One more moment, to be told of every one."""
        time_s = observation.snapshot.time_s
        sizes = {name: len(pool.executors) for name, pool in observation.plan.pools.items()}
        acted = self._sizes is not None and sizes != self._sizes
        if self._sizes is None:
            self._act_s = time_s
        elif acted:
            self._act_s = self._seen_s
        self._sizes, self._seen_s = sizes, time_s
        self._becoming_real = bool(observation.settling) and (acted or self._becoming_real)
        self._whole_periods = -1 if acted or self._becoming_real else self._whole_periods + 1

    def blind(self) -> str | None:
        """Why nothing should be looked at now, or None. Looking again must wait for T_m from now on."""
        if self._whole_periods < self._smoothed_over:
            return "the measures still cover time before the last change"
        if self._seen_s - self._looked_s < self._t_m_s - _ROUNDING_S:
            return f"T_m: looks again in {human(self._looked_s + self._t_m_s - self._seen_s)}"
        self._looked_s = self._seen_s
        return None

    def too_soon(self) -> str | None:
        """Why nothing may be done now, or None."""
        if math.isinf(self._t_ra_s):
            return "T_ra is forever: this is only recommended"
        wait_s = self._act_s + self._t_ra_s - self._seen_s
        return f"T_ra: {human(wait_s)} must pass until the next act" if wait_s > _ROUNDING_S else None

    def horizon_s(self, interval_s: float) -> float:
        """From an act now until the next possible one."""
        return max(self._t_ra_s, self._t_m_s, self._smoothed_over * interval_s)


def periods_smoothed(smoothing: str) -> int:
    """How many periods a smoothed measure reaches back: w, or 1/(1 − α)."""
    kind, _, argument = smoothing.strip().partition(":")
    if kind == "window":
        return int(argument)
    return math.ceil(1 / (1 - float(argument)) - 1e-9) if kind == "alpha" else 1
