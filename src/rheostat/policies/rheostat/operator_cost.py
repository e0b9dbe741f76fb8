"""Operator cost: what an operator's records and batches cost, learned from finished work, and the latency of it."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rheostat.policies.batch_cost import BatchCost, BatchCosts
from rheostat.policies.rheostat.batch_cost_so_far import BatchCostSoFar
from rheostat.policies.rheostat.consistent_mean import ConsistentMean
from rheostat.policies.rheostat.start_cost import StartCost
from rheostat.policies.rheostat.substream_shares import SubstreamShares
from rheostat.snapshot import Batch, ExecutorPhase, ExecutorState, OperatorState, SubstreamState

Floats = NDArray[np.float64]

LATENCY_IN_BATCHES = 1.5
FULL = 0.97
"""Utilisation of the busiest executor from which on a queue is taken to grow for ever."""

_REMEMBERED = 100
"""Turns with batches over which what is known of the slowest task is averaged."""

_COLD_S = 5.0
"""An executor is cold for so long: it loads classes, compiles, and starts its Python workers. Nothing is learned from
finished work until what it has begun by then is finished."""

_RECORD_VARIANCE = 2.0
"""Of the work of one record over its squared mean: one for the number of records, one for what they cost."""

_SHORTEST_BATCH_S = 0.1
_ITERATIONS = 20

_STEP = 0.01
_AXIS = _STEP * np.arange(-800, 801)
_BELOW = np.array(list(map(NormalDist().cdf, _AXIS.tolist())))
_SIZES = np.unique(np.round(np.geomspace(1, 1e6, 200)))
_LARGEST_OF = np.array([_STEP * np.sum(np.heaviside(_AXIS, 0.5) - _BELOW**size) for size in _SIZES])
"""e(k) for these k, by its integral."""

_EQUAL_ROWS, _EQUAL_BATCHES = 0.01, 3
"""So many times in turn batches have as many records as the ones before, up to this share: their number is limited."""

_SPREAD = 1.5
"""Times as many tasks as usual a batch has whose rows are spread for executors that start."""

_STRAGGLERS = 4
"""One in so many tasks of a batch may be those that it waits for."""

_STRAGGLING = 2.0
"""Times as long as it should a batch has taken."""


class OperatorCost:
    """Service time per record, cost per batch, and how much longer the busiest executor works than the mean one.

    The latter has two causes. Keys that are more frequent than others give an executor more records: the stretch. And
    of k executors with m records each the slowest takes longer by chance, by a share of about e(k)·√(v/m): e(k) is
    the mean of the largest of k standard normal variables, and v the squared coefficient of variation of the service
    times, which is learned from how long batches took.
    """

    def __init__(self) -> None:
        self._service = ConsistentMean(noise=1.0, relative=True)
        self._batches = BatchCosts()
        self._fitted = BatchCost()
        self._last: OperatorState | None = None
        self._last_size = 0
        self._variation, self._variations = 0.0, 0
        self._owners: Sequence[int] = ()
        self._serving: Sequence[int] = ()
        self._size = 1
        self._running = BatchCostSoFar()
        self._batch_rows = 0.0
        self._equal_batches = 0
        self._last_batch: Batch | None = None
        self._usual_tasks: dict[int, float] = {}
        self._active_since_s: dict[int, float] = {}
        self._cold_at: int | None = None
        self._disturbed_at: int | None = None
        self._starts = StartCost()
        self._moved_at: int | None = None
        self.task_limit: int | None = None
        self.is_limited = False
        self.shares = SubstreamShares()
        self.learned_s: float | None = None
        self.batched = False
        self.trigger_s = 0.0

    def update(
        self,
        time_s: float,
        state: OperatorState,
        executors: Sequence[ExecutorState],
        size: int,
        owners: Sequence[int] = (),
        substreams: Sequence[SubstreamState] = (),
        rate: float | None = None,
        *,
        is_disturbed: bool = False,
        planned: int = 0,
    ) -> None:
        """Learn from one more turn, in which `size` executors served of those `planned`, and had the substreams as in
        `owners`, and records arrived at `rate`. The first batch after a move loads state, so it shows no jump of the
        cost. While it `is_disturbed` by executors of other pools that start, records may seem to cost more, which is
        not believed."""
        self.batched, self.trigger_s = state.batch is not None, state.trigger_s
        is_moved = bool(self._owners) and owners != self._owners
        self._owners, self._serving, self._size = owners, _serving(substreams) or owners, size
        if is_disturbed and self.learned_s is not None:
            self._disturbed_at = state.completed
        is_usual = self._disturbed_at is None and not self._is_spread(state.batch, size, is_growing=planned > size)
        self._batches.update(state.batch, size, executors, counts=is_usual)
        self._fitted = self._batches.fitted() or BatchCost()
        self.shares.update(time_s, substreams)
        if self._has_cold(time_s, executors):
            self._cold_at = state.completed
        if self.learned_s is not None:
            self._starts.update(state, self._warm(time_s), self._batch_of_s, is_cold=self._cold_at is not None)
        if is_moved:
            self._moved_at = state.completed
        if state.completed is not None and state.busy_s is not None:
            if self._cold_at is None or self.learned_s is None:
                self._learn_from_finished(time_s, state, size, rate)
            elif state.completed != self._cold_at:
                self._cold_at, self._last, self._last_size = None, state, size
            if state.completed != self._disturbed_at:
                self._disturbed_at = None
        if self._disturbed_at is None and (self._moved_at is None or self._moved_at != state.completed):
            task_s, queued = _overhead_s(state.batch), state.queued
            self._running.update(time_s, state.under_way, rate, task_s, queued=queued, is_keyed=bool(owners))

    def _is_spread(self, batch: Batch | None, size: int, *, is_growing: bool) -> bool:
        """Whether the last batches had more tasks than usual, so that executors that start can join them: these cost
        more than others will."""
        last, self._last_batch = self._last_batch, batch
        if batch is None or last is None or batch.count <= last.count or batch.tasks is None or last.tasks is None:
            return False
        tasks = (batch.tasks - last.tasks) / (batch.count - last.count)
        if not is_growing:
            self._usual_tasks[size] = tasks
        return is_growing and tasks > _SPREAD * self._usual_tasks.get(size, math.inf)

    def _has_cold(self, time_s: float, executors: Sequence[ExecutorState]) -> bool:
        """Whether an executor serves that began to a moment ago: what its first records take says nothing about
        later ones."""
        active = [executor.id for executor in executors if executor.phase is ExecutorPhase.ACTIVE]
        since_s = time_s if self._active_since_s else -math.inf
        self._active_since_s = {each: self._active_since_s.get(each, since_s) for each in active}
        return self._warm(time_s) < len(active)

    def _warm(self, time_s: float) -> int:
        """Executors that have served for a while."""
        return sum(time_s - each_s >= _COLD_S for each_s in self._active_since_s.values())

    @property
    def service_s(self) -> float | None:
        """What a record costs: as learned from finished work, or more if the batch under way has cost more already."""
        return self._running.at_least_s(self.learned_s)

    @property
    def jump(self) -> float:
        """How many times as much as learned a record costs by the batch under way; 1 if it does not say so."""
        return (self.service_s or 0.0) / self.learned_s if self.learned_s else 1.0

    @property
    def start_cost_s(self) -> float:
        """How much longer batches take because executors begin to serve in them; 0 while it is not known."""
        return self._starts.mean_s

    @property
    def can_be_joined(self) -> bool:
        """Whether executors that come during a batch take tasks of it: where there are no keys."""
        return not self._owners

    @property
    def row_limit(self) -> float:
        """The most records that a batch takes of those that wait."""
        return self._batch_rows if self.is_limited else math.inf

    def projected_s(self, state: OperatorState) -> float:
        """The mean latency at least of the records of the batch under way when it ends; without one, the age of the
        oldest record.

        They arrived evenly from the oldest on until the batch began. Its waiting work is shared by all executors.
        """
        oldest_s, batch = state.oldest_s or 0.0, state.under_way
        if batch is None:
            return oldest_s
        work_s = max(batch.worked_s, (batch.rows or 0) * (self.service_s or 0.0))
        left_s = (work_s - batch.worked_s) * self.stretch(self._size, as_it_is=True) / self._size
        return (max(oldest_s, batch.elapsed_s) + batch.elapsed_s) / 2 + left_s

    def straggling_s(self, state: OperatorState) -> float:
        """How much longer than it should the batch under way has taken, if few of its tasks are left and it waits for
        them; 0 else, and while an executor is new, whose first task takes longer, or others disturb."""
        batch, is_cold = state.under_way, self._cold_at is not None or self._disturbed_at is not None
        if batch is None or not batch.rows or is_cold or self.learned_s is None:
            return 0.0
        if batch.finished + batch.running < batch.tasks or batch.running * _STRAGGLERS > batch.tasks:
            return 0.0
        should_s = self._batch_of_s(batch.rows, self._size)
        return batch.elapsed_s - should_s if batch.elapsed_s > _STRAGGLING * should_s else 0.0

    def slowed_s(self, slow: float) -> float:
        """How much longer the last batch took because one of its executors takes `slow` times as long as the others."""
        return (slow - 1) * self._batch_rows * (self.service_s or 0.0) / self._size

    @property
    def task_s(self) -> float:
        """What each task costs a batch; 0 while it is not known."""
        return self._fitted.per_executor_s

    def left_s(self, rows: float, worked_s: float) -> float:
        """How long a batch of so many records goes on of which `worked_s` are done."""
        work_s = rows * (self.service_s or 0.0) * self.stretch(self._size, as_it_is=True)
        return max(0.0, work_s - worked_s) / self._size

    def _learn_from_finished(self, time_s: float, state: OperatorState, size: int, rate: float | None) -> None:
        last, last_size = self._last, self._last_size
        if last is not None and state.completed == last.completed:
            return
        self._last, self._last_size = state, size
        if last is None:
            return
        records, work_s = (state.completed or 0) - (last.completed or 0), (state.busy_s or 0.0) - (last.busy_s or 0.0)
        if self._disturbed_at is not None and work_s > records * (self.learned_s or 0.0):
            return
        if records > 0 and work_s > 0:
            self._service.add(time_s, records, work_s)
            self.learned_s = self._service.mean(time_s)
            self._running.forget()
            if size == last_size:
                self._learn_variation(state, last, records, work_s)
            if state.batch is not None and last.batch is not None:
                self._learn_tasks(state.batch, last.batch, size if size == last_size else None)
                self._learn_row_limit(state, records / max(1, state.batch.count - last.batch.count), rate or 0.0)

    def _learn_row_limit(self, state: OperatorState, rows: float, rate: float) -> None:
        """Whether batches all have the same number of records, though more have waited when they began."""
        is_equal = abs(rows - self._batch_rows) <= _EQUAL_ROWS * rows
        self._equal_batches = self._equal_batches + 1 if is_equal else 0
        self._batch_rows = rows
        if (batch := state.under_way) is not None:
            left = (state.queued or 0) - (batch.rows or rows) - rate * batch.elapsed_s
            self.is_limited = self._equal_batches >= _EQUAL_BATCHES and left > 2 * rows

    def _learn_tasks(self, now: Batch, before: Batch, size: int | None) -> None:
        """Whether batches have fewer tasks than executors."""
        batches = max(1, now.count - before.count)
        if size is not None and now.tasks is not None and before.tasks is not None:
            tasks = (now.tasks - before.tasks) // batches
            if tasks < size:
                self.task_limit = max(1, tasks)
            elif self.task_limit is not None and tasks > self.task_limit:
                self.task_limit = None

    def heaviest_substream(self, rate: float) -> float:
        """Executors that the heaviest substream keeps busy; 0 without a key."""
        loads = self.shares.loads if self._owners else ()
        return self.work(rate) * max(loads) / sum(loads) if loads else 0.0

    def _learn_variation(self, state: OperatorState, last: OperatorState, records: int, work_s: float) -> None:
        """From the slowest task of the batches since then."""
        now, before, size = state.batch, last.batch, self._size
        if now is None or before is None or now.fixed_s is None or before.fixed_s is None or size < 2:
            return
        slowest_s = (now.duration_s - before.duration_s) - (now.fixed_s - before.fixed_s)
        by_chance = slowest_s * size / (work_s * self.stretch(size, as_it_is=True)) - 1
        each = records / max(1, now.count - before.count) / size
        variation = min(max(0.0, by_chance), size - 1.0) * math.sqrt(max(1.0, each)) / float(largest_of(size))
        self._variations = min(self._variations + 1, _REMEMBERED)
        self._variation += (variation - self._variation) / self._variations

    def stretch(self, size: int, *, as_it_is: bool = False) -> float:
        """Records of the busiest executor over the mean, with an even spread of substreams, or with the present one."""
        if not self._owners:
            return 1.0
        return self.shares.stretch(self._serving, size) if as_it_is else self.shares.balanced_stretch(size)

    def batch_cost_s(self, size: int) -> float:
        """c: what a batch costs beside its work; 0 while it is not known."""
        return self._fitted.at(size)

    @property
    def is_guess(self) -> bool:
        """Whether it was not seen yet that a batch costs less on more executors, though it is expected."""
        return self._fitted.shared_s > 0 and self._batches.is_guess

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
            batch_s = self._batch_s(rate, size, used)
            if batch_s >= self.trigger_s:
                return LATENCY_IN_BATCHES * batch_s
            rows = np.array(rate * self.trigger_s)
            return self.trigger_s / 2 + float(self.batch_with_s(rows, np.array(float(size)), size))
        return (self.service_s or 0.0) / (1 - used)

    def chance_s(self, rate: float, size: int, window_s: float) -> float:
        """The standard deviation of the mean latency over a window, in the long run: records arrive by chance and
        differ in cost. What a batch has more than usual, the next one has too, by the share of the utilisation."""
        used = self.utilisation(rate, size)
        if not self.batched or not rate > 0 or used >= FULL:
            return 0.0
        batch_s = max(self._batch_s(rate, size, used), self.trigger_s, _SHORTEST_BATCH_S)
        share = used / rate  # of an executor's time, by one record
        each_s = share * math.sqrt(_RECORD_VARIANCE * rate * batch_s) / math.sqrt(1 - used**2)
        batches = max(1.0, window_s / batch_s * (1 - used) / (1 + used))
        return LATENCY_IN_BATCHES * each_s / math.sqrt(batches)

    def batch_with_s(self, rows: Floats, executors: Floats, cost_size: int) -> Floats:
        """The durations of batches of so many rows on so many executors."""
        each = rows / executors
        work_s = each * ((self.service_s or 0.0) * self.stretch(cost_size))
        if self._variation:
            work_s = work_s * (1 + self._variation * largest_of(executors) / np.sqrt(np.maximum(each, 1.0)))
        return np.asarray(self.batch_cost_s(cost_size) + work_s)

    def _batch_of_s(self, rows: float, size: int) -> float:
        return float(self.batch_with_s(np.array(rows), np.array(float(size)), size))

    def _batch_s(self, rate: float, size: int, used: float) -> float:
        """The duration D that batches settle at: D = c + u·D·(1 + v·e(k)·√(k/(λ·D)))."""
        cost_s = self.batch_cost_s(size)
        by_chance = used * self._variation * float(largest_of(size)) * math.sqrt(size / rate) if rate > 0 else 0.0
        batch_s = cost_s / (1 - used)
        for _ in range(_ITERATIONS):
            batch_s = (cost_s + by_chance * math.sqrt(batch_s)) / (1 - used)
        return batch_s


def largest_of(executors: Floats | float) -> Floats:
    """The mean of the largest of so many standard normal variables; 0 of one."""
    return np.asarray(np.interp(executors, _SIZES, _LARGEST_OF))


def _serving(substreams: Sequence[SubstreamState]) -> tuple[int, ...]:
    """The executors that have the substreams now, in their order; none while one of them moves. Those of the plan may
    not serve yet."""
    found = {state.index: state.executor for state in substreams if state.executor is not None}
    return tuple(found[index] for index in range(len(substreams))) if len(found) == len(substreams) else ()


def _overhead_s(batch: Batch | None) -> float:
    """What a task costs beside its work; 0 if that is not known."""
    return batch.overhead_s / batch.tasks if batch is not None and batch.overhead_s and batch.tasks else 0.0
