"""Trigger: when a new placement is computed (Ra-Stream 5.1)."""

from rheostat.placement import Placement
from rheostat.policies.rastream.monitor import FrameMonitor
from rheostat.policies.rastream.options import RaStreamOptions


class Trigger:
    """Keeps the load and the executors of the last placement."""

    def __init__(self, options: RaStreamOptions) -> None:
        self._limits = options.limits
        self._change = options.rate_change
        self._frame_s = options.frame_s
        self._repeats = 0
        self._again_s = 0.0
        self._rate: float | None = None
        self._executors: tuple[object, ...] | None = None
        self._troubled: frozenset[str] = frozenset()

    def load_changed(self, monitor: FrameMonitor) -> bool:
        """Whether the rate differs from that of the last placement by more than the threshold."""
        newest = monitor.newest_rate
        if newest is None or self._rate is None:
            return False
        return abs(newest - self._rate) > self._change * max(self._rate, 1e-12)

    def reason(self, now: Placement, executors: tuple[object, ...], monitor: FrameMonitor) -> str | None:
        """Why a new placement should be computed, or None. Nodes that the last one could not help do not count."""
        if self._executors is None:
            return "there is no placement yet"
        if executors != self._executors:
            return "executors were added or removed"
        if self.load_changed(monitor):
            return f"the rate changed from {self._rate:.0f}/s to {monitor.newest_rate:.0f}/s"
        troubled = self._outside(now) - self._troubled
        limits = f"[{self._limits.under:.0%}, {self._limits.over:.0%}]"
        return f"{', '.join(sorted(troubled))} left {limits}" if troubled else None

    def wait_s(self, executors: tuple[object, ...], monitor: FrameMonitor, time_s: float) -> float:
        """How long to wait with the next placement for the same load and executors; 0 where these have changed.

        Records follow executors, so that a placement may not bring what it promised. After each further one for the
        same load the wait doubles, and moves that do not help end.
        """
        unchanged = executors == self._executors and not self.load_changed(monitor)
        return max(0.0, self._again_s - time_s) if unchanged else 0.0

    def planned(self, now: Placement, executors: tuple[object, ...], monitor: FrameMonitor, time_s: float) -> None:
        """A placement was computed for the load of this frame, whether it is used or not."""
        repeated = executors == self._executors and not self.load_changed(monitor)
        self._repeats = self._repeats + 1 if repeated else 0
        self._again_s = time_s + self._frame_s * 2**self._repeats
        self._rate = monitor.external_rate
        self._executors = executors
        self._troubled = self._outside(now)

    def placed(self, then: Placement) -> None:
        """The placement that was computed is used: its nodes outside the limits are not to be planned for again."""
        self._troubled = self._outside(then)

    def _outside(self, now: Placement) -> frozenset[str]:
        """The nodes in use with a utilisation outside [T_under, T_over]: R, or the busiest resource if that is more."""
        under, over = self._limits.under, self._limits.over
        weighted = now.weighted()
        full = {name: max(weighted[name], *shares) for name, shares in now.utilisation.items()}
        return frozenset(name for name, share in full.items() if 0 < share < under or share > over)
