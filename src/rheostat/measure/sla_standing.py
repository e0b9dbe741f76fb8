"""SLA standing: the mean latency over the window of each SLA, turn by turn, from what a plant measured."""

from collections import deque
from collections.abc import Sequence

import msgspec

from rheostat.sla import SLA
from rheostat.snapshot import Latency, Snapshot

_ROUNDING = 1e-9


class SlaStanding(msgspec.Struct, frozen=True):
    """Where an SLA stands: the mean latency of what completed in the window that ends now, and the limit.

    If nothing completed in it, `latency_s` is how long the oldest record has waited, as far as that is beyond the
    limit. None means that nothing is known, or that the first window is not over.
    """

    latency_s: float | None
    limit_s: float
    sla: str = ""

    @property
    def missed(self) -> bool | None:
        return None if self.latency_s is None else self.latency_s > self.limit_s * (1 + _ROUNDING)


class SlaStandings:
    """Follows `slas` from snapshot to snapshot. The latency along a path is the sum of those at its operators."""

    def __init__(self, slas: Sequence[SLA]) -> None:
        self._slas = sorted(slas, key=lambda sla: bool(sla.operators))
        self._windows = [[_LatencyWindow(sla.window_s) for _ in sla.operators or (None,)] for sla in self._slas]

    def update(self, snapshot: Snapshot) -> tuple[SlaStanding, ...]:
        """One standing for each SLA: that of the whole topology first, the others in their order."""
        return tuple(
            SlaStanding(_standing_s(sla, windows, snapshot), sla.latency_s, str(sla))
            for sla, windows in zip(self._slas, self._windows, strict=True)
        )


class _LatencyWindow:
    """The latencies of what completed in the last `window_s`."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._first_s: float | None = None
        self._completed: deque[tuple[float, int, float]] = deque()

    def update(self, time_s: float, latency: Latency | None) -> tuple[float | None, bool]:
        """The mean over the window that ends at `time_s`, and whether a whole window has passed."""
        self._first_s = time_s if self._first_s is None else self._first_s
        if latency is not None and latency.count > 0:
            self._completed.append((time_s, latency.count, latency.count * latency.mean_s))
        while self._completed and self._completed[0][0] <= time_s - self._window_s:
            self._completed.popleft()
        count = sum(each for _, each, _ in self._completed)
        mean_s = sum(each_s for _, _, each_s in self._completed) / count if count else None
        return mean_s, time_s - self._first_s >= self._window_s * (1 - _ROUNDING)


def _standing_s(sla: SLA, windows: Sequence[_LatencyWindow], snapshot: Snapshot) -> float | None:
    narrowed = [snapshot.operators.get(name) for name in sla.operators]
    latencies = [None if state is None else state.latency for state in narrowed] or [snapshot.latency]
    found = [window.update(snapshot.time_s, latency) for window, latency in zip(windows, latencies, strict=True)]
    if not all(is_whole for _, is_whole in found):
        return None
    means_s = [mean_s for mean_s, _ in found if mean_s is not None]
    if len(means_s) == len(found):
        return sum(means_s)
    states = narrowed or snapshot.operator_states
    oldest_s = max((state.oldest_s or 0.0 for state in states if state is not None), default=0.0)
    return oldest_s if oldest_s > sla.latency_s else None
