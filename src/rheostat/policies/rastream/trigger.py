"""When a new plan is worth thinking about (Ra-Stream 5.1), and when it is not."""

from rheostat.placement import Placement
from rheostat.policies.rastream.monitor import Monitor
from rheostat.policies.rastream.options import RaStreamOptions


class Trigger:
    """Remembers for which load and which executors the last plan was made."""

    def __init__(self, options: RaStreamOptions) -> None:
        self._limits = options.limits
        self._change = options.rate_change
        self._rate: float | None = None
        self._executors: tuple[object, ...] | None = None
        self._troubled: frozenset[str] = frozenset()

    def load_changed(self, monitor: Monitor) -> bool:
        """Whether the rate has left what the last plan was made for."""
        newest = monitor.newest_rate
        if newest is None or self._rate is None:
            return False
        return abs(newest - self._rate) > self._change * max(self._rate, 1e-12)

    def reason(self, now: Placement, executors: tuple[object, ...], monitor: Monitor) -> str | None:
        """Why a plan should be made, or None. Nodes that a plan could not help before are no reason again."""
        if self._executors is None:
            return "no plan was made yet"
        if executors != self._executors:
            return "executors have come or gone"
        if self.load_changed(monitor):
            return f"the rate changed from {self._rate:.0f}/s to {monitor.newest_rate:.0f}/s"
        troubled = self._outside(now) - self._troubled
        return f"{', '.join(sorted(troubled))} left the limits" if troubled else None

    def planned(self, now: Placement, executors: tuple[object, ...], monitor: Monitor) -> None:
        """A plan was made for the load of this frame, whatever came of it."""
        self._rate = monitor.external_rate
        self._executors = executors
        self._troubled = self._outside(now)

    def _outside(self, now: Placement) -> frozenset[str]:
        """The nodes in use with a utilisation R outside of [T_under, T_over], or a resource of which they lack some."""
        under, over = self._limits.under, self._limits.over
        lacking = {name for name, shares in now.utilisation.items() if max(shares) > 1}
        outside = {name for name, share in now.weighted().items() if 0 < share < under or share > over}
        return frozenset(lacking | outside)
