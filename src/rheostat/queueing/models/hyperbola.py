"""Models whose sojourn time is a hyperbola in the executors to spare: a constant + fall/u + rise·u, u = k − a.

M/M/1 queues side by side and micro-batches are of this kind. Each step is known without the one before:
λ·(E[T](k+1) − E[T](k)) = rise − fall/(u(u+1)).
"""

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from rheostat.queueing.models.model import Counts, Flags, Floats
from rheostat.queueing.models.rates import Rates

_MOST_SPARE = 1e12
"""If even so many spare executors still gain, every further executor counts as a gain."""


class _HyperbolaStack:
    """Many hyperbolic operators; a block is one formula over executors × operators."""

    def __init__(self, models: Sequence["Hyperbolic"], executors: Counts) -> None:
        self._fall, self._rise = np.array([model.hyperbola() for model in models]).T
        self._load = np.array([model.load() for model in models])
        self._executors = executors.astype(np.float64)

    def block(self, width: int) -> Floats:
        steps = np.arange(width, dtype=np.float64)[:, np.newaxis]
        spare = (self._executors + steps) - self._load
        self._executors = self._executors + width
        changes: Floats = self._rise - self._fall / (spare * (spare + 1.0))
        return changes

    def keep(self, which: Flags) -> None:
        self._fall, self._rise = self._fall[which], self._rise[which]
        self._load, self._executors = self._load[which], self._executors[which]


class Hyperbolic(Rates, frozen=True):
    """An operator whose mean number of tuples is a constant + fall/u + rise·u with u = k − λ/μ to spare."""

    convex: ClassVar[bool] = True
    stack: ClassVar[type[_HyperbolaStack]] = _HyperbolaStack

    def hyperbola(self) -> tuple[float, float]:
        """`fall` and `rise`, both 0 or more, in tuples."""
        raise NotImplementedError

    def changes(self, executors: int) -> Iterator[float]:
        fall, rise = self.hyperbola()
        load, k = self.load(), float(executors)
        while True:
            spare = k - load
            k += 1.0
            yield rise - fall / (spare * (spare + 1.0))

    def best(self, least: int = 1) -> float:
        """The smallest k whose successor is no better: u(u+1) ≥ fall/rise."""
        fall, rise = self.hyperbola()
        if fall == 0.0:
            return self._first_without_gain(max(least, int(self.load())))
        ratio = fall / rise if rise > 0.0 else math.inf
        if ratio > _MOST_SPARE**2:
            return math.inf
        spare = 0.5 * (math.sqrt(1.0 + 4.0 * ratio) - 1.0)
        return self._first_without_gain(max(least, int(self.load() + spare)))

    def _first_without_gain(self, guess: int) -> int:
        """From `guess`, the root rounded down, to the next k: the sign of the change itself decides."""
        k = max(guess, int(super().fewest()))
        while next(self.changes(k)) < 0.0:
            k += 1
        return k
