"""The order in which executors are best given out, for any number of stations and any model.

Both of DRS's problems are answered by one sequence: start from the fewest executors that keep up, then always
add the one that lowers the mean number of tuples in the network most. AssignProcessors takes as many as
K_max allows, MinProcessors as many as T_max needs.
"""

from collections.abc import Sequence
from typing import Protocol

from rheostat.queueing.greedy import greedy_order
from rheostat.queueing.lanes import Lanes, all_fall
from rheostat.queueing.model import Floats, Model
from rheostat.queueing.ranking import RankedOrder
from rheostat.queueing.uneven import UnevenOrder

_FEW = 32
"""Up to so many stations a heap is faster than vectors."""


class Order(Protocol):
    """Executors in the order of what they gain, known up to some number of them."""

    @property
    def changes(self) -> Sequence[float] | Floats:
        """What each executor in turn does to the mean number of tuples in the network: never positive."""

    def take(self, spare: int) -> Sequence[int]:
        """The executors of each station when the best `spare` are added to the fewest possible."""


def best_order(lanes: Lanes[Model], spare: int) -> Order:
    """The best order, known up to `spare` executors, by the fastest way that is exact for these models."""
    if not all_fall(lanes):
        return UnevenOrder(lanes, spare)
    return greedy_order(lanes, spare) if len(lanes.models) <= _FEW else RankedOrder(lanes, spare)
