"""Path success: the share of windows in which a path of two keyed operators meets its latency bound.

The mean over all records hides the delay of a few: an executor in a switch delays only its own substreams. The path is
therefore scored like StreamSwitch scores operators, by substream: for every pair of a substream of the first and one
of the second operator, the sum of their true latencies in a window.
"""

import numpy as np

from rheostat.experiments.reproduce.streamswitch.substream_latency import SLOT_S, Floats, every_slot, mean_s, totals
from rheostat.sim.cluster.cluster import Cluster


class PathSuccess:
    """Watches two operators of a cluster once it is called with the cluster; `rate` is the share of windows that met
    the bound, over all pairs. Windows in which one of the two substreams completed nothing are left out."""

    def __init__(self, first: str, second: str, latency_s: float, window_s: float) -> None:
        self._operators = first, second
        self._latency_s = latency_s
        self._slots = round(window_s / SLOT_S)
        self._history: list[list[Floats]] = []
        self._met = self._scored = 0

    @property
    def rate(self) -> float:
        return self._met / self._scored if self._scored else 1.0

    def __call__(self, cluster: Cluster) -> None:
        every_slot(cluster, lambda: self._observe(cluster))

    def _observe(self, cluster: Cluster) -> None:
        self._history.append([totals(cluster, name) for name in self._operators])
        if len(self._history) > self._slots:
            before, now = self._history.pop(0), self._history[-1]
            self._score(*(mean_s(old, new) for old, new in zip(before, now, strict=True)))

    def _score(self, first_s: Floats, second_s: Floats) -> None:
        pairs_s = first_s[~np.isnan(first_s), np.newaxis] + second_s[~np.isnan(second_s)]
        self._scored += pairs_s.size
        self._met += int((pairs_s <= self._latency_s).sum())
