"""Pacing: when DRS may decide. T_m between two decisions, T_ra between two actions, no measures of another plan."""

import math

from rheostat.duration import human
from rheostat.names import PoolName
from rheostat.policies.observation import Observation

_ROUNDING_S = 1e-9


class Pacing:
    """Follows the plans. An action is a change of sizes. T_ra counts from the last one, and from the first observation
    before there was one (the paper's figure 8). Smoothed measures count once they cover only time under the present
    sizes.
    """

    def __init__(self, t_ra_s: float, t_m_s: float, smoothing: str) -> None:
        self._t_ra_s, self._t_m_s = t_ra_s, t_m_s
        self._smoothed_over = periods_smoothed(smoothing)
        self._whole_periods: float = math.inf
        self._sizes: dict[PoolName, int] | None = None
        self._settling = self._acted = False
        self._now_s = self._action_s = 0.0
        self._decided_s = -math.inf

    def update(self, observation: Observation) -> None:
        """Add one more turn; every turn must be added."""
        time_s = observation.snapshot.time_s
        sizes = {name: pool.size for name, pool in observation.plan.pools.items()}
        acted = self._sizes is not None and sizes != self._sizes
        if self._sizes is None:
            self._action_s = time_s
        elif acted:
            self._action_s, self._acted = self._now_s, True
        self._sizes, self._now_s = sizes, time_s
        self._settling = bool(observation.settling) and (acted or self._settling)
        self._whole_periods = -1 if acted or self._settling else self._whole_periods + 1

    def why_wait(self) -> str | None:
        """Why nothing should be decided now, or None. The next decision then has to wait for T_m."""
        if self._whole_periods < self._smoothed_over:
            return "the measures still cover time before the last action: hold"
        if self._now_s - self._decided_s < self._t_m_s - _ROUNDING_S:
            return f"t_m of {human(self._t_m_s)}: hold for {human(self._decided_s + self._t_m_s - self._now_s)}"
        self._decided_s = self._now_s
        return None

    def too_soon(self) -> str | None:
        """Why there may be no action now, or None."""
        if math.isinf(self._t_ra_s):
            return "t_ra is forever, this is only a recommendation"
        wait_s = self._action_s + self._t_ra_s - self._now_s
        return f"t_ra of {human(self._t_ra_s)}, {human(wait_s)} left" if wait_s > _ROUNDING_S else None

    def since_action_s(self) -> float:
        """Since the last action; infinite before there was one."""
        return self._now_s - self._action_s if self._acted else math.inf

    @property
    def now_s(self) -> float:
        """The time of the last turn."""
        return self._now_s

    def horizon_s(self, interval_s: float) -> float:
        """From an action now until the next possible one."""
        return max(self._t_ra_s, self._t_m_s, self._smoothed_over * interval_s)


def periods_smoothed(smoothing: str) -> int:
    """How many periods a smoothed measure covers: w, or 1/(1 − α)."""
    kind, _, argument = smoothing.strip().partition(":")
    if kind == "window":
        return int(argument)
    return math.ceil(1 / (1 - float(argument)) - 1e-9) if kind == "alpha" else 1
