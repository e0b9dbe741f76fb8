"""Latency window: the mean latency over the last while, from what completed in each turn."""

from collections import deque

from rheostat.snapshot import Latency


class LatencyWindow:
    """Follows the latency of results."""

    def __init__(self, window_s: float) -> None:
        self.window_s = window_s
        self._turns: deque[tuple[float, int, float]] = deque()

    def add(self, time_s: float, latency: Latency | None) -> None:
        """What completed since the turn before."""
        if latency is not None and latency.count > 0:
            self._turns.append((time_s, latency.count, latency.mean_s))
        while self._turns and not time_s - self.window_s < self._turns[0][0] <= time_s:
            self._turns.popleft()

    @property
    def mean_s(self) -> float | None:
        """None when nothing completed."""
        count = sum(completed for _, completed, _ in self._turns)
        return sum(completed * mean_s for _, completed, mean_s in self._turns) / count if count else None
