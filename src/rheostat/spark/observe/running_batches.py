"""Running batches: the micro-batches that are computed now, and how far their tasks are."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rheostat.spark.observe.status_store import ActiveStage, StageData, StageShare, StatusStore, TaskData

_BATCH = re.compile(r"runId = ([0-9a-f-]{36})\nbatch = (\d+)")
_MS = 1e-3
_FEWEST_TASKS = 2
"""Finished tasks of a stage that show how much the others read."""

_LOOK_BACK = 8
"""Stages before the first that was seen of a batch which are looked up: they may have ended before they were seen."""


class BatchId(NamedTuple):
    """The run of a query, and the number of a batch in it."""

    run_id: str
    batch: int


def batch_of(stage: StageData) -> BatchId | None:
    """The batch that a stage belongs to; None if it is of no streaming query."""
    found = _BATCH.search(stage.description)
    return BatchId(found[1], int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class RunningBatch:
    """A batch under way. `tasks` are those of all stages begun so far, `done` is what executors, by their ids, have
    finished of them. `rows` is how many it reads, by what its finished tasks have read; None while too few have.
    `read` is the share of the tasks that read rows which have finished."""

    number: int
    started_s: float
    tasks: int
    done: tuple[tuple[str, StageShare], ...]
    running: tuple[TaskData, ...]
    rows: int | None = None
    read: float = 0.0


class RunningBatches:
    """Follows the stages of batches under way, by the run ids of their queries."""

    def __init__(self, store: StatusStore) -> None:
        self._store = store
        self._stages: dict[BatchId, dict[int, ActiveStage]] = {}

    def update(self, active: Sequence[ActiveStage]) -> dict[str, RunningBatch]:
        """The batches that have a stage in `active`, by run id."""
        by_batch: dict[BatchId, list[ActiveStage]] = {}
        for each in active:
            if (batch := batch_of(each.stage)) is not None:
                by_batch.setdefault(batch, []).append(each)
        self._forget(by_batch)
        return {batch.run_id: self._running(batch, stages) for batch, stages in by_batch.items()}

    def _forget(self, current: Collection[BatchId]) -> None:
        """Batches of which a later one runs. Between two of its stages a batch has no active one."""
        newest = {batch.run_id: batch for batch in sorted({*self._stages, *current})}
        self._stages = {batch: stages for batch, stages in self._stages.items() if newest[batch.run_id] == batch}

    def _running(self, batch: BatchId, active: Sequence[ActiveStage]) -> RunningBatch:
        now_active = {each.stage.stage_id: each for each in active}
        stages = self._stages.get(batch)
        if stages is None:
            stages = self._stages[batch] = self._ended_before(batch, min(now_active))
        for stage_id, each in stages.items():
            if stage_id not in now_active and each.running:
                stages[stage_id] = ActiveStage(each.stage, (), self._store.shares(each.stage))
        stages.update(now_active)
        return RunningBatch(
            number=batch.batch,
            started_s=min(each.stage.submission_time for each in stages.values()) * _MS,
            tasks=sum(each.stage.tasks for each in stages.values()),
            done=tuple(share for each in stages.values() for share in each.shares.items()),
            running=tuple(task for each in active for task in each.running),
            rows=_rows(stages.values()),
            read=_read(stages.values()),
        )

    def _ended_before(self, batch: BatchId, first: int) -> dict[int, ActiveStage]:
        """The stages of `batch` with lower numbers than `first`, which have ended."""
        found = {}
        for stage_id in range(first - 1, max(-1, first - 1 - _LOOK_BACK), -1):
            stage = self._store.stage(stage_id)
            if stage is None or (other := batch_of(stage)) is None or not stage.finished:
                continue
            if other == batch:
                found[stage_id] = ActiveStage(stage, (), self._store.shares(stage))
            elif other.run_id == batch.run_id:
                break
        return found


def _rows(stages: Iterable[ActiveStage]) -> int | None:
    """If the other tasks of a stage read as much as those that have finished."""
    total = 0.0
    for each in stages:
        finished = sum(share.succeeded_tasks for share in each.shares.values())
        if read := sum(share.input_records for share in each.shares.values()):
            if finished < min(_FEWEST_TASKS, each.stage.tasks):
                return None
            total += read * each.stage.tasks / finished
    return round(total) or None


def _read(stages: Iterable[ActiveStage]) -> float:
    reading = [
        (sum(share.succeeded_tasks for share in each.shares.values()), each.stage.tasks)
        for each in stages
        if any(share.input_records for share in each.shares.values())
    ]
    return sum(finished for finished, _ in reading) / sum(tasks for _, tasks in reading) if reading else 0.0
