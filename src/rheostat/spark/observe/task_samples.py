"""Task samples: the tasks of a query's last batch, by executor and by substream.

The second of DRS's two levels of sampling. How many rows a query has read is exact, from its batches. How they were
spread over executors and substreams is looked up for one batch of each query in each reading, and taken to hold for the
batches since the last one. So the cost of a reading does not grow with the rate of batches.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from rheostat.spark.observe.running_batches import batch_of
from rheostat.spark.observe.status_store import StageData, StatusStore, TaskData

_MOST_STAGES = 100
_MOST_SEARCHES = 3
"""For one batch: the end of a stage may be known later than that of its batch, but not much later."""
_MS = 1e-3

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class BatchTasks:
    """The finished tasks of one batch, by stage in the order of the stages."""

    batch: int
    stages: tuple[tuple[TaskData, ...], ...]

    @property
    def count(self) -> int:
        return sum(len(stage) for stage in self.stages)

    @property
    def widest(self) -> int:
        """The tasks of the stage that has most: so many can run at once."""
        return max((len(stage) for stage in self.stages), default=0)

    def executors(self) -> set[str]:
        """Spark's ids of the executors that ran them."""
        return {task.executor_id for stage in self.stages for task in stage}

    def run_s(self) -> dict[str, float]:
        """How long each executor ran them, in slot seconds."""
        return _summed((task.executor_id, run_s_of(task)) for stage in self.stages for task in stage)

    def held_s(self) -> dict[str, float]:
        """How long they held slots of each executor, from launch to end: this is what Spark adds up."""
        return _summed((task.executor_id, _held_s(task)) for stage in self.stages for task in stage)

    def by_executor(self) -> dict[str, float]:
        """The share of the rows that each executor processed, by Spark's id."""
        return _shares(_summed((task.executor_id, rows_of(task)) for task in self.main()), self._run_shares())

    def by_substream(self, substreams: int) -> list[float] | None:
        """The share of the rows in each substream; None if no stage has a task for each of them."""
        stage = self._keyed(substreams)
        if stage is None:
            return None
        shares = _shares(_summed((task.partition_id, rows_of(task)) for task in stage), {})
        return [shares.get(index, 0.0) for index in range(substreams)]

    def main(self) -> tuple[TaskData, ...]:
        """The stage in which most of the work was done."""
        return max(self.stages, key=lambda stage: sum(run_s_of(task) for task in stage), default=())

    def _keyed(self, substreams: int) -> tuple[TaskData, ...] | None:
        """The stage with the state: the last one that has as many tasks as there are substreams."""
        fitting = [stage for stage in self.stages if len({task.partition_id for task in stage}) == substreams]
        return fitting[-1] if fitting else None

    def _run_shares(self) -> dict[str, float]:
        """Shares of the run time, for sources that do not count rows."""
        return _shares(self.run_s(), {})


class TaskSampler:
    """Looks up tasks in the status store, for queries known by their run ids."""

    def __init__(self, store: StatusStore) -> None:
        self._store = store
        self._sampled: dict[str, int] = {}
        self._searches: Counter[tuple[str, int]] = Counter()

    def sample(self, committed: Mapping[str, int]) -> dict[str, BatchTasks]:
        """The last committed batch of each run, unless it was sampled before.

        The search goes back from the newest stage, where the last batches are. A batch behind too many other stages is
        left out.
        """
        self._sampled = {run: batch for run, batch in self._sampled.items() if run in committed}
        searches = Counter({each: self._searches[each] + 1 for each in committed.items()})
        open_ = {
            run
            for run, batch in committed.items()
            if self._sampled.get(run) != batch and searches[run, batch] <= _MOST_SEARCHES
        }
        self._searches = searches
        found: dict[str, list[StageData]] = {run: [] for run in open_}
        newest = self._store.next_stage_id() - 1
        for stage_id in range(newest, max(-1, newest - _MOST_STAGES), -1):
            if not open_:
                break
            stage = self._store.stage(stage_id)
            origin = None if stage is None else batch_of(stage)
            if stage is None or origin is None or origin.run_id not in open_:
                continue
            run, batch = origin
            if batch < committed[run]:
                open_.discard(run)
            elif batch == committed[run] and stage.finished:
                found[run].append(stage)
        return {run: self._tasks(run, committed[run], stages) for run, stages in found.items() if stages}

    def _tasks(self, run: str, batch: int, stages: list[StageData]) -> BatchTasks:
        self._sampled[run] = batch
        tasks = [tuple(t for t in self._store.tasks(stage) if t.succeeded) for stage in reversed(stages)]
        return BatchTasks(batch, tuple(tasks))


def run_s_of(task: TaskData) -> float:
    """How long the executor ran the task."""
    return task.task_metrics.executor_run_time * _MS if task.task_metrics else 0.0


def _held_s(task: TaskData) -> float:
    return run_s_of(task) if task.duration is None else task.duration * _MS


def rows_of(task: TaskData) -> float:
    """How many rows the task read."""
    metrics = task.task_metrics
    return 0.0 if metrics is None else metrics.shuffle_read_metrics.records_read or metrics.input_metrics.records_read


def _summed(amounts: Iterable[tuple[Key, float]]) -> dict[Key, float]:
    sums: dict[Key, float] = defaultdict(float)
    for key, amount in amounts:
        sums[key] += amount
    return dict(sums)


def _shares(amounts: Mapping[Key, float], otherwise: Mapping[Key, float]) -> dict[Key, float]:
    total = sum(amounts.values())
    return {key: amount / total for key, amount in amounts.items()} if total > 0 else dict(otherwise)
