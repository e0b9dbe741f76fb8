"""The best allocation where the gains of some stations do not fall, such as those of mixed executors.

Taking the largest gain first may then miss the optimum. The falling stations together have a least mean number
of tuples for each number of executors; each other station joins by the (min, +) convolution of that curve
with its own. A station of m possible counts costs m vector operations over the executors to spare.
"""

from typing import cast

import numpy as np

from rheostat.queueing.lanes import Lanes
from rheostat.queueing.model import Counts, FallingModel, Floats, Model
from rheostat.queueing.ranking import RankedOrder


class UnevenOrder:
    """Optimal for models of any shape; of equal allocations, one with the fewest executors."""

    def __init__(self, lanes: Lanes[Model], spare: int) -> None:
        self._lowest = lanes.lowest
        self._falling = [i for i, model in enumerate(lanes.models) if model.falls]
        self._ranked = RankedOrder(_only(self._falling, lanes), spare)
        self._tuples = _above_least(self._ranked.changes, spare)
        self._shares: dict[int, Counts] = {}
        for i, model in enumerate(lanes.models):
            if not model.falls:
                most = int(min(lanes.highest[i], lanes.lowest[i] + spare))
                tuples = _tuples_at(model, range(lanes.lowest[i], most + 1))
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


def _only(falling: list[int], lanes: Lanes[Model]) -> Lanes[FallingModel]:
    models = cast(list[FallingModel], [lanes.models[i] for i in falling])
    return Lanes(models, [lanes.lowest[i] for i in falling], [lanes.highest[i] for i in falling])


def _above_least(changes: Floats, spare: int) -> Floats:
    """By how many tuples the falling stations together exceed their least, with 0 to `spare` executors more.

    Summed from the last gain back, so that the huge gains of the first executors do not swallow the others.
    """
    above = np.zeros(spare + 1)
    used = changes[:spare]
    above[: used.size] = np.cumsum(-used[::-1])[::-1]
    return above


def _tuples_at(model: Model, executors: range) -> Floats:
    """The mean number of tuples at an operator with each of these numbers of executors."""
    if model.arrival_rate == 0.0:
        return np.zeros(1)
    return np.array([model.arrival_rate * model.sojourn_s(k) for k in executors])


def _joined(tuples: Floats, station: Floats) -> tuple[Floats, Counts]:
    """The least number of tuples when one station more gets a share of the executors, and that share."""
    least = tuples + station[0]
    shares = np.zeros(tuples.size, dtype=np.int64)
    for share in range(1, station.size):
        candidate = tuples[:-share] + station[share]
        better = candidate < least[share:]
        np.copyto(least[share:], candidate, where=better)
        shares[share:][better] = share
    return least, shares
