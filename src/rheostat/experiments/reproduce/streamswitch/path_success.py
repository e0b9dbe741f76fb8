"""How often a bound over a path of keyed operators is met by the records that go through one substream of each.

The mean over all records together hides what a few of them wait for: an executor that is switched holds up its own
substreams only. So the path is judged as StreamSwitch judges operators, substream by substream: every way through a
substream of the first and one of the second operator, whose latencies in a window add up. From true latencies.
"""

import numpy as np
from numpy.typing import NDArray

from rheostat.sim.cluster.cluster import Cluster

_SLOT_S = 0.1

Floats = NDArray[np.float64]


class PathSuccess:
    """Watches two operators of a cluster from the moment it is called with it; `rate` is the share of windows that met
    the bound, over all ways. A window in which one of the two substreams completed nothing is left out."""

    def __init__(self, first: str, second: str, latency_s: float, window_s: float) -> None:
        self._operators = first, second
        self._latency_s = latency_s
        self._slots = round(window_s / _SLOT_S)
        self._history: list[list[Floats]] = []
        self._met = self._judged = 0

    @property
    def rate(self) -> float:
        return self._met / self._judged if self._judged else 1.0

    def __call__(self, cluster: Cluster) -> None:
        start_s = cluster.now_s

        def turn(count: int) -> None:
            self._look(cluster)
            cluster.timers.at(start_s + (count + 1) * _SLOT_S, lambda: turn(count + 1))

        turn(0)

    def _look(self, cluster: Cluster) -> None:
        self._history.append([_totals(cluster, name) for name in self._operators])
        if len(self._history) > self._slots:
            before, now = self._history.pop(0), self._history[-1]
            self._judge(*(_mean_s(old, new) for old, new in zip(before, now, strict=True)))

    def _judge(self, first_s: Floats, second_s: Floats) -> None:
        ways_s = first_s[~np.isnan(first_s), np.newaxis] + second_s[~np.isnan(second_s)]
        self._judged += ways_s.size
        self._met += int((ways_s <= self._latency_s).sum())


def _totals(cluster: Cluster, operator: str) -> Floats:
    """Sums of latencies, and completions, of all substreams so far."""
    row = cluster.state.operators[cluster.position[operator]]
    first = int(row.first_substream)
    rows = cluster.state.substreams[first : first + int(row.substreams)]
    return np.array([rows.latency, rows.completed], dtype=np.float64)


def _mean_s(before: Floats, now: Floats) -> Floats:
    latencies_s, completed = now - before
    return np.asarray(np.divide(latencies_s, completed, out=np.full(completed.shape, np.nan), where=completed > 0))
