"""The degree an operator needs: the ideal one, the interval in which nothing is done, the new one (eq. 9 to 13)."""

import math
from dataclasses import dataclass

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Need:
    """`work_s` is EstimInput × Lat: the processor time that the next iteration of `iteration_s` will need.

    `usable` and `reserved` are shares of a core that one executor can count on, now and after any change.
    """

    work_s: float
    iteration_s: float
    usable: float
    reserved: float
    weight: float

    @property
    def ideal(self) -> float:
        """idealK (eq. 10), with Capacity of eq. 9."""
        return self.work_s / (self.iteration_s * self.usable)

    @property
    def degree(self) -> int:
        """The smallest k' with EstimInput / ResCapacity ≤ k' (eq. 12, which prints k; ResCapacity is eq. 13)."""
        needed = self.work_s / (self.iteration_s * self.reserved * self.weight)
        return max(1, math.ceil(needed - _ROUNDING))

    def beyond(self, executors: int, beta: float) -> int | None:
        """The degree to change to when the ideal one leaves [βk, k]; None to stay.

        A scale-in that reservations do not allow is none: λ weighs all of eq. 13 and only a part of eq. 7.
        """
        if self.ideal > executors + _ROUNDING:
            return max(self.degree, executors + 1)
        if self.ideal < beta * executors - _ROUNDING and self.degree < executors:
            return self.degree
        return None
