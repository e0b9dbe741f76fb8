"""Batch work: what the batches of one query cost, learned from samples of their tasks.

Work is counted when a batch has finished, with its rows: a service rate that pairs rows of finished batches with the
time of a running one could be any number.
"""

from collections import deque
from collections.abc import Mapping

from rheostat.snapshot import Batch, BatchUnderWay, OperatorState
from rheostat.spark.observe.cold_start import ColdStart
from rheostat.spark.observe.operators.batch_costs import BatchCostCounter
from rheostat.spark.observe.operators.work_model import SampledWork, WorkModel
from rheostat.spark.observe.running_batches import RunningBatch
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.per_record.timings import Timings

_SAME_WIDTH = 5
"""Batches with the same number of tasks after which it is taken to be fixed."""


class BatchWork:
    """In each reading: `add` the finished batches, `take_sample` if the last one was found, then `charge`.

    Counters continue from `before`. Queries that share `cold_start` share their executors.
    """

    def __init__(self, before: OperatorState, cold_start: ColdStart) -> None:
        self._cold_start = cold_start
        self._costs = BatchCostCounter(before)
        self._model = WorkModel()
        self._uncharged = 0
        self._last_rows = 0
        self._is_last_evidence = False
        self._widths: deque[int] = deque(maxlen=_SAME_WIDTH)
        self.tasks: BatchTasks | None = None
        self.sample: SampledWork | None = None

    def add(self, batch: BatchRecord) -> None:
        """A batch has finished."""
        self._is_last_evidence = self._cold_start.add(batch)
        self._costs.add(batch, is_evidence=self._is_last_evidence)
        self._uncharged += batch.row_count
        self._last_rows = batch.row_count

    def take_sample(self, tasks: BatchTasks, timings: Timings | None = None) -> None:
        """The tasks of the last batch, and how long the functions on single records took where they are timed.

        A batch without rows does not show which executors process how many. A cold one shows how rows are divided, but
        not what they cost.
        """
        has_new_executors = self._cold_start.join(tasks.executors())
        if self.tasks is None or self._last_rows:
            self.tasks = tasks
            self._widths.append(tasks.widest)
        if has_new_executors and self.sample is not None:
            self._is_last_evidence = False
            self._costs.last_is_no_evidence()
        if self._is_last_evidence and (self.sample is None or self._last_rows):
            self.sample = self._model.sampled(tasks, self._last_rows, timings)
            self._cold_start.sampled()

    def charge(self, slots: Mapping[str, int]) -> None:
        """Charge the batches since the last time as much for each row as the last sample; `slots` are those of Spark's
        executors."""
        if self.sample is not None:
            rows, self._uncharged = self._uncharged, 0
            self._costs.charge(rows, self.sample, slots)

    def suspend(self) -> None:
        """What batches cost is unknown until some are charged again."""
        self._costs.suspend()

    @property
    def width(self) -> int | None:
        """How many of its tasks can run at once, if it was the same in all of the last batches: then the source has so
        many partitions. Otherwise it depends on the rows."""
        is_known = len(self._widths) == _SAME_WIDTH and len(set(self._widths)) == 1
        return self._widths[-1] if is_known else None

    @property
    def busy_s(self) -> float | None:
        return self._costs.busy_s

    @property
    def batch(self) -> Batch:
        return self._costs.batch

    def under_way(
        self, running: RunningBatch, rows: int | None, slots: Mapping[str, int], now_s: float
    ) -> BatchUnderWay | None:
        """The batch that is computed now, which has `rows`; None while nothing shows what its tasks take.

        What a task costs beside its work is taken from the last sample. Tasks on executors that had no part in the last
        batch count as waiting: the first tasks on an executor take longer, and this is no work. Before the first sample
        all that tasks take is work, once executors have been at work for long enough, on this batch and on those
        before: somebody may have attached to a query whose batches take minutes.
        """
        if self.sample is None or self.tasks is None:
            warm, overhead_s = {executor for executor, _ in running.done}, 0.0
        else:
            warm, overhead_s = set(self.tasks.executors()), self.sample.overhead_s
        begun = [task for task in running.running if task.executor_id in warm]
        done = [share for executor, share in running.done if executor in warm]
        finished = sum(share.succeeded_tasks for share in done)
        held_s = sum(share.task_s for share in done) + sum(task.elapsed_s(now_s) for task in begun)
        worked_s = held_s - overhead_s * (finished + len(begun))
        per_executor = max((slots.get(executor, 1) for executor in warm), default=1)
        if self.sample is None and self._cold_start.is_cold_after(held_s / max(1, len(warm)) / per_executor):
            return None
        return BatchUnderWay(
            elapsed_s=max(0.0, now_s - running.started_s),
            tasks=running.tasks,
            finished=finished,
            running=len(begun),
            worked_s=max(0.0, worked_s) / max(1, per_executor),
            rows=rows,
        )
