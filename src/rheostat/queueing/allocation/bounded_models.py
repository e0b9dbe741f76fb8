"""Bounded models: the operators that compete for executors, each with its fewest and most."""

from collections.abc import Sequence
from typing import Generic, TypeGuard, TypeVar

import msgspec

from rheostat.queueing.models.model import ConvexModel, QueueModel

M = TypeVar("M", bound=QueueModel, covariant=True)


class BoundedModels(msgspec.Struct, Generic[M], frozen=True):
    """Models in the order declared; for each the fewest executors that it needs and the most that it may use."""

    models: Sequence[M]
    lowest: list[int]
    highest: list[float]


def all_convex(bounded: BoundedModels[QueueModel]) -> TypeGuard[BoundedModels[ConvexModel]]:
    """Whether the gains of every model fall, so that taking the largest first is optimal."""
    return False not in [model.convex for model in bounded.models]


def share_evenly(executors: list[int], highest: Sequence[float], left: int) -> None:
    """Divide `left` executors equally among the stations below their upper bounds, the first ones first.

    A lightly loaded M/M/k gains from every further executor, but soon less than a double can hold (1e-308 tuples):
    those gains all count as equal.
    """
    while left > 0 and (below := [i for i, most in enumerate(highest) if executors[i] < most]):
        share = max(1, left // len(below))
        for i in below[:left]:
            more = int(min(share, highest[i] - executors[i]))
            executors[i] += more
            left -= more
