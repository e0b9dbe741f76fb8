"""Fluid model: work that arrives in slots of time at one operator, and executors that serve it, in whole numbers."""

from collections.abc import Iterator, Sequence

import msgspec

from rheostat.errors import ConfigError


class FluidModel(msgspec.Struct, frozen=True, kw_only=True):
    """One operator over a run of equal slots, in which work flows like a liquid, first in, first out.

    `arrivals` are the units of work of each slot, there from its beginning; an executor serves `per_executor` units in
    a slot. Work must be served by the end of the slot that is `deadline` slots after its own, as far as that is within
    the run. An executor is paid from its request on and serves `start` slots later; `initial` ones serve from the
    beginning. There are from `least` to `most` of them, and they come and go between slots.
    """

    arrivals: tuple[int, ...]
    per_executor: int
    deadline: int
    start: int
    initial: int
    least: int = 1
    most: int

    def __post_init__(self) -> None:
        if self.per_executor < 1 or min(self.deadline, self.start, *self.arrivals, 0) < 0:
            raise ConfigError(f"{self!r}: work, deadline and start must be 0 or more, per_executor at least 1")
        if not 0 < self.least <= min(self.most, self.initial):
            raise ConfigError(f"{self!r}: least must be from 1 to most, and not above initial")

    def limits(self) -> Iterator[int]:
        """The most work that may be left at the end of each slot: what arrived so lately that it is not due."""
        left = 0
        for slot, arriving in enumerate(self.arrivals):
            left += arriving
            if slot >= self.deadline:
                left -= self.arrivals[slot - self.deadline]
            yield left

    def is_met(self, sizes: Sequence[int]) -> bool:
        """Whether so many executors in each slot are possible, and serve all work in time."""
        before, left = self.initial, 0
        for slot, (size, arriving, limit) in enumerate(zip(sizes, self.arrivals, self.limits(), strict=True)):
            left = max(0, left + arriving - size * self.per_executor)
            is_possible = self.least <= size <= self.most and (size <= before or slot >= self.start)
            if left > limit or not is_possible:
                return False
            before = size
        return True

    def cost(self, sizes: Sequence[int]) -> int:
        """The slots that all executors are paid for, those in which they start included."""
        before = (self.initial, *sizes)[: len(sizes)]
        started = sum(max(0, size - last) for size, last in zip(sizes, before, strict=True))
        return sum(sizes) + self.start * started
