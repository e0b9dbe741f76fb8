"""Batch costs: the time and tasks that an operator's batches took, divided into work and fixed cost.

Cold batches (see `cold_start`) are charged like warm ones: what they took beyond that is nobody's cost.
"""

from collections import deque
from collections.abc import Mapping

from rheostat.snapshot import Batch, OperatorState
from rheostat.spark.observe.operators.work_model import SampledWork
from rheostat.spark.query.batch_log import BatchRecord

_MOST_PENDING = 1000


class BatchCostCounter:
    """Counters that continue from `before`. What batches cost is known once one of them was sampled."""

    def __init__(self, before: OperatorState) -> None:
        batch = before.batch or Batch(0, 0.0, 0.0, 0)
        self._count, self._duration_s = batch.count, batch.duration_s
        self._fixed_s, self._tasks = batch.fixed_s or 0.0, batch.tasks or 0
        self._overhead_s = batch.overhead_s or 0.0
        self._busy_s = before.busy_s or 0.0
        self._is_sampled = False
        self._pending: deque[BatchRecord] = deque(maxlen=_MOST_PENDING)
        self._cold_s: list[float] = []
        self._warm, self._warm_fixed_s = 0, 0.0

    def add(self, batch: BatchRecord, *, is_evidence: bool = True) -> None:
        """Add a committed batch. One that is no evidence has the fixed cost of the others, or less if it was short."""
        self._count += 1
        self._duration_s += batch.duration_s
        if is_evidence:
            self._pending.append(batch)
        else:
            self._cold_s.append(batch.duration_s)

    def last_is_no_evidence(self) -> None:
        """The batch added last turned out to be none."""
        if self._pending:
            self._cold_s.append(self._pending.pop().duration_s)

    def charge(self, rows: int, sample: SampledWork, slots: Mapping[str, int]) -> None:
        """Charge the batches added since the last time, which had `rows`, as much as `sample` for each row.

        `slots` are those of Spark's executors. An executor works a second when all its slots do. The longest working
        executor decides how long a batch works; the rest of its duration is its fixed cost.
        """
        self._is_sampled = True
        batches = len(self._pending) + len(self._cold_s)
        work_s = [worked_s / max(1, slots.get(executor, 1)) for executor, worked_s in sample.worked_s.items()]
        if rows or batches:
            self._busy_s += sum(work_s) * sample.ratio(rows)
        longest_s = max(work_s, default=0.0)
        for batch in self._pending:
            self._charge_fixed(max(0.0, batch.duration_s - longest_s * sample.ratio(batch.row_count)))
        self._tasks += batches * sample.tasks.count
        self._overhead_s += batches * sample.overhead_on(slots)
        warm_fixed_s = self._warm_fixed_s / self._warm if self._warm else 0.0
        self._fixed_s += sum(min(duration_s, warm_fixed_s) for duration_s in self._cold_s)
        self._pending.clear()
        self._cold_s.clear()

    def suspend(self) -> None:
        """What batches cost is unknown until some are charged again."""
        self._is_sampled = False

    @property
    def busy_s(self) -> float | None:
        return self._busy_s if self._is_sampled else None

    @property
    def batch(self) -> Batch:
        if not self._is_sampled:
            return Batch(self._count, self._duration_s)
        return Batch(self._count, self._duration_s, self._fixed_s, self._tasks, self._overhead_s)

    def _charge_fixed(self, cost_s: float) -> None:
        self._fixed_s += cost_s
        self._warm += 1
        self._warm_fixed_s += cost_s
