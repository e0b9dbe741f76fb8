"""The one interface of all queueing models: how long a tuple stays at an operator with k executors."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Model(Protocol):
    """The expected sojourn time of a tuple at an operator, as a function of its number of executors."""

    falls: ClassVar[bool]
    """Whether each further executor gains less than the one before, up to `best()`: a `FallingModel`."""

    @property
    def arrival_rate(self) -> float:
        """Tuples that arrive at the operator per second."""

    def sojourn_s(self, executors: int) -> float:
        """E[T_i](k): mean seconds from a tuple's arrival to its completion; infinite when k cannot keep up."""

    def utilisation(self, executors: int) -> float:
        """ρ: the share of their time that k executors are busy; 1 or more when they cannot keep up."""

    def fewest(self) -> float:
        """The fewest executors that keep up; infinite when no number does."""

    def best(self, least: int = 1) -> float:
        """The number, from `least` on, with the least sojourn time; infinite when each further executor helps."""

    def floor_s(self, least: int = 1) -> float:
        """The sojourn time at `best(least)`; when that is infinite, the limit that no number reaches."""


class Stack(Protocol):
    """Models of one family side by side, each at its own number of executors, stepped together."""

    def block(self, width: int) -> Floats:
        """The next `width` changes of every model: a row for each executor added, a column for each model."""

    def keep(self, which: Flags) -> None:
        """Go on with these models only."""


StackType = Callable[[Sequence[Any], Counts], Stack]
"""Puts models of one family, each at the number of executors given, side by side."""


class FallingModel(Model, Protocol):
    """A model whose E[T_i] is convex in k up to `best()`, which is all that DRS's theorems 1 and 2 ask for."""

    stack: ClassVar[StackType]
    """How many models of this family are stepped together."""

    def changes(self, executors: int) -> Iterator[float]:
        """λ·(E[T_i](k+1) − E[T_i](k)) for k = `executors` and on, one after the other without end.

        By Little's law, what one more executor does to the mean number of tuples at the operator: negative and
        rising up to `best()`.
        """
