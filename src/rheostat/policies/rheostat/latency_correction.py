"""Latency correction: how far measured latencies are from those that the model predicts for what was decided."""

from collections import deque

_REMEMBERED = 150
"""Turns over which the ratio is averaged."""

_LEAST_SHARE = 0.2
"""Predictions below this share of the SLA's latency say little about the latencies that matter."""

_LEAST, _MOST = 0.7, 1.5


class LatencyCorrection:
    """The mean ratio of measured to predicted latency, from turns in which the last action has settled for a whole
    window and no backlog makes records late: such latencies say nothing about the model. A measured latency is the mean
    of a window, so it is compared with that of the predictions in it: after a rise of the load it is still low."""

    def __init__(self, sla_s: float, window_s: float) -> None:
        self._sla_s, self._window_s = sla_s, window_s
        self._turns = 0
        self._unsettled_s: float | None = None
        self._predicted: deque[tuple[float, float]] = deque()
        self.factor = 1.0

    def learn(self, time_s: float, predicted_s: float, measured_s: float | None, *, is_settled: bool) -> None:
        """Add one more turn. `predicted_s` is without correction, `measured_s` the mean of the window until now;
        `is_settled` says that no action is under way and no backlog is drained."""
        if not is_settled or self._unsettled_s is None or time_s < self._unsettled_s:
            self._unsettled_s = time_s
        self._predicted.append((time_s, predicted_s))
        while not time_s - self._window_s < self._predicted[0][0] <= time_s:
            self._predicted.popleft()
        if time_s - self._unsettled_s <= self._window_s or measured_s is None:
            return
        predicted_s = sum(each_s for _, each_s in self._predicted) / len(self._predicted)
        if not _LEAST_SHARE * self._sla_s <= predicted_s <= self._sla_s:
            return
        self._turns = min(self._turns + 1, _REMEMBERED)
        ratio = min(max(measured_s / predicted_s, _LEAST), _MOST)
        self.factor += (ratio - self.factor) / max(self._turns, _REMEMBERED // 5)
