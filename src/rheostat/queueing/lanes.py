"""The operators that compete for executors, as the algorithms of allocation see them."""

from collections.abc import Sequence
from typing import Generic, TypeGuard, TypeVar

import msgspec

from rheostat.queueing.model import FallingModel, Model

M = TypeVar("M", bound=Model, covariant=True)


class Lanes(msgspec.Struct, Generic[M], frozen=True):
    """Models in the order declared; for each the fewest executors it needs and the most that it may have and use."""

    models: Sequence[M]
    lowest: list[int]
    highest: list[float]


def all_fall(lanes: Lanes[Model]) -> TypeGuard[Lanes[FallingModel]]:
    """Whether gains fall in every lane, so that taking the largest first is optimal."""
    return False not in [model.falls for model in lanes.models]
