"""Latency outside: how long records take where no executor of a pool helps, in sources and between operators."""

import statistics
from collections import deque
from collections.abc import Mapping

from rheostat.names import OperatorName
from rheostat.policies.rheostat.latency_window import LatencyWindow
from rheostat.snapshot import Latency

_REMEMBERED = 60
"""Turns."""

_ENOUGH = 5
"""Turns from which on the median is believed."""


class LatencyOutside:
    """The latency from entry to result, less that at the operators: the median over the last turns. While a backlog
    grows or shrinks, the records that leave the last operator are not those that leave the first."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._in_all = LatencyWindow(window_s)
        self._at: dict[OperatorName, LatencyWindow] = {}
        self._seen_s: deque[float] = deque(maxlen=_REMEMBERED)

    def update(self, time_s: float, in_all: Latency | None, at: Mapping[OperatorName, Latency | None]) -> None:
        """Add one more turn: what completed in it, and at which operators."""
        self._in_all.add(time_s, in_all)
        for name, latency in at.items():
            self._at.setdefault(name, LatencyWindow(self._window_s)).add(time_s, latency)
        measured = [mean_s for each in at if (mean_s := self._at[each].mean_s) is not None]
        if at and len(measured) == len(at) and (total_s := self._in_all.mean_s) is not None:
            self._seen_s.append(total_s - sum(measured))

    @property
    def median_s(self) -> float:
        """0 while too little was seen, and if operators that work beside each other take longer in all."""
        return max(0.0, statistics.median(self._seen_s)) if len(self._seen_s) >= _ENOUGH else 0.0
