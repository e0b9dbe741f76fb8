"""Convolution: the best allocation where some models are not convex, such as those of executors of mixed speeds.

Taking the largest gain first may then miss the optimum. The convex stations together have a least mean number of tuples
for each number of executors; each other station joins by the (min, +) convolution of that curve with its own. A station
with m possible counts costs m vector operations over the spare executors.
"""

from typing import cast

import numpy as np

from rheostat.queueing.allocation.bounded_models import BoundedModels
from rheostat.queueing.allocation.ranking import RankedOrder
from rheostat.queueing.models.model import ConvexModel, Counts, Floats, QueueModel


class ConvolutionOrder:
    """Optimal for models of any shape; among equal allocations, one with the fewest executors."""

    def __init__(self, bounded: BoundedModels[QueueModel], spare: int) -> None:
        self._lowest = bounded.lowest
        self._falling = [i for i, model in enumerate(bounded.models) if model.convex]
        self._ranked = RankedOrder(_only(self._falling, bounded), spare)
        self._tuples = _above_least(self._ranked.changes, spare)
        self._shares: dict[int, Counts] = {}
        for i, model in enumerate(bounded.models):
            if not model.convex:
                most = int(min(bounded.highest[i], bounded.lowest[i] + spare))
                tuples = _tuples_at(model, range(bounded.lowest[i], most + 1))
                self._tuples, self._shares[i] = _joined(self._tuples, tuples)

    @property
    def changes(self) -> Floats:
        return np.diff(np.minimum.accumulate(self._tuples))

    def take(self, spare: int) -> list[int]:
        executors = self._lowest.copy()
        spent = int(np.argmin(self._tuples[: spare + 1]))
        left = spare
        for i in reversed(self._shares):
            share = int(self._shares[i][spent])
            executors[i] += share
            spent -= share
            left -= share
        for i, k in zip(self._falling, self._ranked.take(left), strict=True):
            executors[i] = k
        return executors


def _only(falling: list[int], bounded: BoundedModels[QueueModel]) -> BoundedModels[ConvexModel]:
    models = cast(list[ConvexModel], [bounded.models[i] for i in falling])
    return BoundedModels(models, [bounded.lowest[i] for i in falling], [bounded.highest[i] for i in falling])


def _above_least(changes: Floats, spare: int) -> Floats:
    """By how many tuples the convex stations together exceed their least, with 0 to `spare` more executors.

    Summed from the last gain back, so that the huge gains of the first executors do not round off the others.
    """
    above = np.zeros(spare + 1)
    used = changes[:spare]
    above[: used.size] = np.cumsum(-used[::-1])[::-1]
    return above


def _tuples_at(model: QueueModel, executors: range) -> Floats:
    """The mean number of tuples at an operator, for each of these numbers of executors."""
    if model.arrival_rate == 0.0:
        return np.zeros(1)
    return np.array([model.arrival_rate * model.sojourn_s(k) for k in executors])


def _joined(tuples: Floats, station: Floats) -> tuple[Floats, Counts]:
    """The least number of tuples when one more station gets a share of the executors, and that share."""
    least = tuples + station[0]
    shares = np.zeros(tuples.size, dtype=np.int64)
    for share in range(1, station.size):
        candidate = tuples[:-share] + station[share]
        better = candidate < least[share:]
        np.copyto(least[share:], candidate, where=better)
        shares[share:][better] = share
    return least, shares
