"""The tasks of a query's last batch: who did how much of it, and which substream is how large.

The second of DRS's two levels of sampling. How many rows a query has read is exact, from its batches; how they were
spread over executors and substreams is looked up for one batch of each query in each pull, and taken to hold for
the batches since. So the cost of a pull does not grow with the rate of batches.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from rheostat.spark.observe.status_store import StageData, StatusStore, TaskData

_BATCH = re.compile(r"runId = ([0-9a-f-]{36})\nbatch = (\d+)")
_MOST_STAGES = 24
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

    def run_s(self) -> dict[str, float]:
        """What each executor worked on it, in slot seconds."""
        return _summed((task.executor_id, run_s_of(task)) for stage in self.stages for task in stage)

    def held_s(self) -> dict[str, float]:
        """How long its tasks kept slots of each executor, from launch to end, which is what Spark sums up."""
        return _summed((task.executor_id, _held_s(task)) for stage in self.stages for task in stage)

    def by_executor(self) -> dict[str, float]:
        """The share of the rows that each executor served, by its name."""
        return _shares(_summed((task.executor_id, rows_of(task)) for task in self.main()), self._run_shares())

    def by_substream(self, substreams: int) -> list[float] | None:
        """The share of the rows in each substream; None if no stage has a task for each of them."""
        stage = self._keyed(substreams)
        if stage is None:
            return None
        shares = _shares(_summed((task.partition_id, rows_of(task)) for task in stage), {})
        return [shares.get(index, 0.0) for index in range(substreams)]

    def owners(self, substreams: int) -> list[str | None]:
        """The executor that served each substream."""
        ran = {task.partition_id: task.executor_id for task in self._keyed(substreams) or ()}
        return [ran.get(index) for index in range(substreams)]

    def main(self) -> tuple[TaskData, ...]:
        """The stage in which most of the work was done."""
        return max(self.stages, key=lambda stage: sum(run_s_of(task) for task in stage), default=())

    def _keyed(self, substreams: int) -> tuple[TaskData, ...] | None:
        """State lies in the last stage that has as many tasks as there are substreams, and reads a shuffle."""
        fitting = [stage for stage in self.stages if len({task.partition_id for task in stage}) == substreams]
        return fitting[-1] if fitting else None

    def _run_shares(self) -> dict[str, float]:
        """Some sources do not count rows: work stands for them."""
        return _shares(self.run_s(), {})


class TaskSampler:
    """Looks up tasks in Spark's bookkeeping. Queries are known by their run ids."""

    def __init__(self, store: StatusStore) -> None:
        self._store = store
        self._sampled: dict[str, int] = {}

    def sample(self, committed: Mapping[str, int]) -> dict[str, BatchTasks]:
        """Of each run whose last committed batch is given, that batch, unless it was sampled before.

        Stages are looked at from the newest one on, so the last batch of a query is among the first; one that lies
        behind too many others is left out this time.
        """
        open_ = {run for run, batch in committed.items() if batch >= 0 and self._sampled.get(run) != batch}
        found: dict[str, list[StageData]] = {run: [] for run in open_}
        newest = self._store.next_stage_id() - 1
        for stage_id in range(newest, max(-1, newest - _MOST_STAGES), -1):
            if not open_:
                break
            stage = self._store.stage(stage_id)
            run, batch = _origin(stage)
            if stage is None or run not in open_:
                continue
            if batch < committed[run]:
                open_.discard(run)
            elif batch == committed[run] and stage.finished:
                found[run].append(stage)
        return {run: self._tasks(run, committed[run], stages) for run, stages in found.items() if stages}

    def _tasks(self, run: str, batch: int, stages: list[StageData]) -> BatchTasks:
        self._sampled[run] = batch
        tasks = [tuple(t for t in self._store.tasks(stage) if t.succeeded) for stage in reversed(stages)]
        return BatchTasks(batch, tuple(tasks))


def _origin(stage: StageData | None) -> tuple[str, int]:
    found = _BATCH.search(stage.description) if stage is not None else None
    return (found[1], int(found[2])) if found else ("", -1)


def run_s_of(task: TaskData) -> float:
    """How long its executor ran it."""
    return task.task_metrics.executor_run_time * _MS if task.task_metrics else 0.0


def _held_s(task: TaskData) -> float:
    return run_s_of(task) if task.duration is None else task.duration * _MS


def rows_of(task: TaskData) -> float:
    """What it read."""
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
