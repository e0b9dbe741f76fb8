"""Operator cost: what an operator's records and batches cost, learned from finished work."""

import math
from collections.abc import Sequence

from rheostat.policies.batch_cost import BatchCosts
from rheostat.policies.rheostat.consistent_mean import ConsistentMean
from rheostat.snapshot import ExecutorState, OperatorState

LATENCY_IN_BATCHES = 1.5
_FULL = 0.97
"""Utilisation that is planned for at most."""
_STRETCH_KEPT = 0.8


class OperatorCost:
    """Service time per record, cost per batch, and how much longer the busiest executor works than the mean."""

    def __init__(self) -> None:
        self._service = ConsistentMean(noise=2.0, relative=True)
        self._batches = BatchCosts()
        self._last: OperatorState | None = None
        self.stretch = 1.0
        self.service_s: float | None = None
        self.batched = False

    def update(self, state: OperatorState, time_s: float, size: int, executors: Sequence[ExecutorState]) -> None:
        """Learn from one more turn with `size` executors that serve."""
        last, self._last = self._last, state
        self.batched = state.batch is not None
        self._batches.update(state.batch, size, executors)
        if last is None or state.completed is None or last.completed is None:
            return
        records, work_s = state.completed - last.completed, _work_s(state) - _work_s(last)
        if records > 0 and work_s > 0:
            self._service.add(time_s, records, work_s)
            self.service_s = self._service.mean(time_s)
            self._learn_stretch(state, last, work_s, size)

    def _learn_stretch(self, state: OperatorState, last: OperatorState, work_s: float, size: int) -> None:
        now, before = state.batch, last.batch
        if now is None or before is None or now.fixed_s is None or before.fixed_s is None or size < 1:
            return
        longest_s = (now.duration_s - before.duration_s) - (now.fixed_s - before.fixed_s)
        stretch = min(max(1.0, longest_s * size / work_s), float(size))
        self.stretch = _STRETCH_KEPT * self.stretch + (1 - _STRETCH_KEPT) * stretch

    def batch_cost_s(self, size: int) -> float:
        """c: what a batch costs beside its work; 0 while it is not known."""
        return self._batches.at(size) or 0.0

    def utilisation(self, rate: float, size: int) -> float:
        """Of the busiest executor."""
        return rate * (self.service_s or 0.0) * self.stretch / size

    def latency_s(self, rate: float, size: int) -> float:
        """The mean time of a record at the operator with `size` executors, in the long run; infinite in overload."""
        used = self.utilisation(rate, size)
        if used >= _FULL:
            return math.inf
        if self.batched:
            return LATENCY_IN_BATCHES * max(self.batch_cost_s(size), 0.0) / (1 - used)
        return (self.service_s or 0.0) / (1 - used)


def _work_s(state: OperatorState) -> float:
    if state.batch is not None and state.batch.work_s is not None:
        return state.batch.work_s
    return state.busy_s or 0.0
