"""Substream latency: true latencies of the substreams of simulated operators, in slots of a tenth of a second."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rheostat.names import OperatorName
from rheostat.sim.cluster.cluster import Cluster

SLOT_S = 0.1

Floats = NDArray[np.float64]


def every_slot(cluster: Cluster, observe: Callable[[], None]) -> None:
    """Call `observe` now and after every slot."""
    start_s = cluster.now_s

    def sample(count: int) -> None:
        observe()
        cluster.timers.at(start_s + (count + 1) * SLOT_S, lambda: sample(count + 1))

    sample(0)


def totals(cluster: Cluster, operator: str) -> Floats:
    """Latency sums and completed records of all substreams so far."""
    row = cluster.state.operators[cluster.position[OperatorName(operator)]]
    first = int(row.first_substream)
    rows = cluster.state.substreams[first : first + int(row.substreams)]
    return np.array([rows.latency, rows.completed], dtype=np.float64)


def mean_s(before: Floats, now: Floats) -> Floats:
    """Mean latencies between two `totals`; NaN where nothing was completed."""
    latencies_s, completed = now - before
    return np.asarray(np.divide(latencies_s, completed, out=np.full(completed.shape, np.nan), where=completed > 0))


class SubstreamLatency:
    """Watches an operator of a cluster once it is called with the cluster, and keeps the latencies of each slot."""

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self._slots: list[Floats] = []

    def __call__(self, cluster: Cluster) -> None:
        last: Floats | None = None

        def observe() -> None:
            nonlocal last
            now = totals(cluster, self._operator)
            if last is not None:
                self._slots.append(mean_s(last, now))
            last = now

        every_slot(cluster, observe)

    def highest_s(self, substreams: list[int], from_s: float, to_s: float) -> float:
        """The highest latency of `substreams` in the slots between two times; NaN if nothing was completed."""
        slots = [slot[substreams] for slot in self._slots[round(from_s / SLOT_S) : round(to_s / SLOT_S)]]
        known = np.concatenate(slots) if slots else np.array([])
        known = known[~np.isnan(known)]
        return float(known.max()) if known.size else float("nan")
