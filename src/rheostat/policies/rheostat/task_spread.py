"""Task spread: when the rows of a batch should be in more tasks than there are executors.

With one task for each executor a batch waits for the slowest of them. In several tasks each, the others take over what
a slow one does not get to, but each task costs the batch something. This is PA-SPS's load-aware grouping.
"""

from typing import Protocol

from rheostat.snapshot import OperatorState

_MORE_TASKS = 2
"""Tasks for each executor that come on top with load-aware grouping."""

_TASK_S = 0.02
"""What a task costs a batch at least: as long as a pool had one size only, nothing is known of it."""

_WORTH = 0.25
"""More tasks may cost this share of what a batch takes longer."""

_FIRST_KEPT_S = 10.0
"""Executors that are even again for so long need no more tasks; twice as long each time that it was too early."""


class BatchTimes(Protocol):
    """What is known of an operator's batches, as `OperatorCost` has it."""

    @property
    def task_s(self) -> float: ...

    def straggling_s(self, state: OperatorState) -> float: ...

    def slowed_s(self, slow: float) -> float: ...


class TaskSpread:
    """Of one operator without a key. `is_wide` says whether more tasks are worth it."""

    def __init__(self) -> None:
        self._kept_s = _FIRST_KEPT_S
        self._uneven_s: float | None = None
        self.is_wide = False

    @property
    def was_wide(self) -> bool:
        """Whether more tasks were ever worth it."""
        return self._uneven_s is not None

    def update(self, time_s: float, state: OperatorState, cost: BatchTimes, size: int, slow: float | None) -> None:
        """Add one more turn with `size` executors, one of which may take `slow` times as long as the others."""
        longer_s = max(cost.straggling_s(state), cost.slowed_s(slow or 1.0))
        is_worth_it = 0 < _MORE_TASKS * size * max(_TASK_S, cost.task_s) <= _WORTH * longer_s
        if is_worth_it and not self.is_wide:
            self._kept_s *= 2 if self.was_wide else 1
            self.is_wide = True
        if not self.is_wide:
            return
        if is_worth_it or slow is not None or self._uneven_s is None or time_s < self._uneven_s:
            self._uneven_s = time_s
        self.is_wide = time_s - self._uneven_s <= self._kept_s
