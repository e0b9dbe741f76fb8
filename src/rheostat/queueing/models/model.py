"""Queueing model: the interface of all models, the sojourn time of a tuple at an operator with k executors."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class QueueModel(Protocol):
    """The expected sojourn time of a tuple at an operator, as a function of its number of executors."""

    convex: ClassVar[bool]
    """Whether each further executor gains less than the previous one, up to `best()`: a `ConvexModel`."""

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
        """Continue with these models only."""


StackType = Callable[[Sequence[Any], Counts], Stack]
"""Makes a stack of models of one family, each at its given number of executors."""


class ConvexModel(QueueModel, Protocol):
    """A model whose E[T_i] is convex in k up to `best()`, which is all that DRS's theorems 1 and 2 require."""

    stack: ClassVar[StackType]
    """The stack that steps many models of this family together."""

    def changes(self, executors: int) -> Iterator[float]:
        """λ·(E[T_i](k+1) − E[T_i](k)) for k = `executors`, k + 1 and so on, without end.

        By Little's law, the change of the mean number of tuples at the operator with one more executor: negative and
        rising up to `best()`.
        """
