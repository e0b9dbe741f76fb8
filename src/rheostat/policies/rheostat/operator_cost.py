"""Operator cost: what an operator's records and batches cost, learned from finished work, and the latency of it."""

import math
from collections.abc import Sequence

from rheostat.policies.batch_cost import BatchCosts
from rheostat.policies.rheostat.consistent_mean import ConsistentMean
from rheostat.policies.rheostat.substream_shares import SubstreamShares
from rheostat.snapshot import ExecutorState, OperatorState, SubstreamState

LATENCY_IN_BATCHES = 1.5
FULL = 0.97
"""Utilisation of the busiest executor from which on a queue is taken to grow for ever."""

_KEPT = 0.8
"""The weight of what was known of the slowest task when another batch has finished."""


class OperatorCost:
    """Service time per record, cost per batch, and how much longer the busiest executor works than the mean one.

    The latter is the stretch. It comes from keys that are more frequent than others and, in a batch, from tasks that
    happen to take longer.
    """

    def __init__(self) -> None:
        self._service = ConsistentMean(noise=2.0, relative=True)
        self._batches = BatchCosts()
        self._last: OperatorState | None = None
        self._slowest_task = 1.0
        self._owners: Sequence[int] = ()
        self._size = 1
        self.shares = SubstreamShares()
        self.service_s: float | None = None
        self.batched = False

    def update(
        self,
        time_s: float,
        state: OperatorState,
        executors: Sequence[ExecutorState],
        size: int,
        owners: Sequence[int] = (),
        substreams: Sequence[SubstreamState] = (),
    ) -> None:
        """Learn from one more turn, in which `size` executors served and had the substreams as in `owners`."""
        last, self._last = self._last, state
        self.batched = state.batch is not None
        self._owners, self._size = owners, size
        self._batches.update(state.batch, size, executors)
        self.shares.update(time_s, substreams)
        if last is None or state.completed is None or last.completed is None:
            return
        records, work_s = state.completed - last.completed, _work_s(state) - _work_s(last)
        if records > 0 and work_s > 0:
            self._service.add(time_s, records, work_s)
            self.service_s = self._service.mean(time_s)
            self._learn_slowest_task(state, last, work_s)

    def _learn_slowest_task(self, state: OperatorState, last: OperatorState, work_s: float) -> None:
        now, before = state.batch, last.batch
        if now is None or before is None or now.fixed_s is None or before.fixed_s is None:
            return
        longest_s = (now.duration_s - before.duration_s) - (now.fixed_s - before.fixed_s)
        stretch = min(max(1.0, longest_s * self._size / work_s), float(self._size))
        chance = max(1.0, stretch / self.shares.stretch(self._owners, self._size)) if self._owners else stretch
        self._slowest_task = _KEPT * self._slowest_task + (1 - _KEPT) * chance

    def stretch(self, size: int, *, as_it_is: bool = False) -> float:
        """With `size` executors and an even spread of substreams, or with the present one."""
        if not self._owners:
            return min(self._slowest_task, float(size))
        even = self.shares.stretch(self._owners, size) if as_it_is else self.shares.balanced_stretch(size)
        return max(1.0, min(even * self._slowest_task, float(size)))

    def batch_cost_s(self, size: int) -> float:
        """c: what a batch costs beside its work; 0 while it is not known."""
        return self._batches.at(size) or 0.0

    def work(self, rate: float) -> float:
        """Executors that are busy all the time."""
        return rate * (self.service_s or 0.0)

    def utilisation(self, rate: float, size: int, *, as_it_is: bool = False) -> float:
        """Of the busiest executor."""
        return self.work(rate) * self.stretch(size, as_it_is=as_it_is) / size

    def latency_s(self, rate: float, size: int, *, as_it_is: bool = False) -> float:
        """The mean time of a record at the operator with `size` executors, in the long run; infinite in overload."""
        used = self.utilisation(rate, size, as_it_is=as_it_is)
        if used >= FULL:
            return math.inf
        if self.batched:
            return LATENCY_IN_BATCHES * self.batch_cost_s(size) / (1 - used)
        return (self.service_s or 0.0) / (1 - used)


def _work_s(state: OperatorState) -> float:
    if state.batch is not None and state.batch.work_s is not None:
        return state.batch.work_s
    return state.busy_s or 0.0
