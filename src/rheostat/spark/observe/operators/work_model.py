"""Work model: how much of the time of tasks is work, without what a task costs even if it has no rows.

Every micro-batch has its tasks, and each must be started, open files, commit state. Counted as work, this would make an
operator look slower per row the smaller its batches are, and busy when it has next to nothing to do. In the model of a
micro-batch it is part of the fixed cost of a batch.

A function on single records is timed itself, task by task. For any other function a line is fitted to the times of
tasks over their rows (Theil-Sen, which tolerates tasks on cold executors): what it has at no rows is no work. Tasks
with few rows differ more by chance than by these; their work is then what the line says.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.spark.observe.status_store import TaskData
from rheostat.spark.observe.task_samples import BatchTasks, rows_of, run_s_of
from rheostat.spark.query.per_record.timings import Timings, Work

_REMEMBERED = 64
_ENOUGH = 8
_APART = 1.2
"""The most rows of a task over the fewest: below this the tasks are too much alike to fit a line."""

_CHANGED = 2.0
"""The factor by which the cost of a row is off from the line when it is taken to be another one."""

_BY_CHANCE = 3.0
"""Standard deviations from the line up to which the time of a task may be chance."""

_STANDARD_DEVIATION = 1.4826
"""Of a normal variable, over its median absolute deviation."""

_LEAST_SHARE = 0.01
"""Share of a task's time that is always work: an operator that seems to cost nothing would have no service rate."""

_NO_WORK = Work(0, 0.0)


@dataclass(frozen=True, slots=True)
class SampledWork:
    """A sampled batch of `rows` rows. `worked_s` is what each of Spark's executors worked on it, `held_s` how long its
    tasks held slots there; both are seconds of single slots."""

    tasks: BatchTasks
    rows: int
    worked_s: Mapping[str, float]
    held_s: Mapping[str, float]

    @property
    def overhead_s(self) -> float:
        """What a task costs beside its work."""
        tasks = self.tasks.count
        return max(0.0, sum(self.held_s.values()) - sum(self.worked_s.values())) / tasks if tasks else 0.0

    def overhead_on(self, slots: Mapping[str, int]) -> float:
        """What all its tasks cost beside their work, in seconds of executors with so many `slots`."""
        return sum(
            max(0.0, held_s - self.worked_s.get(executor, 0.0)) / max(1, slots.get(executor, 1))
            for executor, held_s in self.held_s.items()
        )

    def ratio(self, rows: int) -> float:
        """How many times the sampled batch `rows` are; 1 if that had none."""
        return rows / self.rows if self.rows else 1.0

    def expected(self, executor: str, rows: int) -> tuple[float, float]:
        """Worked and held seconds of an executor in a batch of `rows`: only the work grows with the rows.

        An executor that had no part in the sampled batch is taken to be like all others together.
        """
        worked_s, held_s = sum(self.worked_s.values()), sum(self.held_s.values())
        if executor in self.held_s:
            worked_s, held_s = self.worked_s.get(executor, 0.0), self.held_s[executor]
        expected_s = worked_s * self.ratio(rows)
        return expected_s, held_s - worked_s + expected_s


class WorkModel:
    """The work in the batches of one operator, learned from one sampled batch to the next."""

    def __init__(self) -> None:
        self._lines: dict[int, _Line] = {}
        self._timed = _Timed()

    def sampled(self, tasks: BatchTasks, rows: int, timings: Timings | None) -> SampledWork:
        """A sampled batch of `rows`. `timings` are those of a function on single records that is all of the query; None
        for any other."""
        return SampledWork(tasks, rows, self.worked_s(tasks, timings), tasks.held_s())

    def worked_s(self, sample: BatchTasks, timings: Timings | None) -> dict[str, float]:
        """What each executor worked on the batch, in slot seconds."""
        if timings is None:
            stages = [self._lines.setdefault(n, _Line()).works_s(tasks) for n, tasks in enumerate(sample.stages)]
        else:
            stages = [self._timed.works_s(sample.main(), timings.tasks)]
        worked_s: dict[str, float] = {}
        for task, work_s in (each for stage in stages for each in stage):
            at_least_s = max(_LEAST_SHARE * run_s_of(task), work_s)
            worked_s[task.executor_id] = worked_s.get(task.executor_id, 0.0) + at_least_s
        return worked_s


TaskWork = list[tuple[TaskData, float]]
"""Tasks, and the seconds that each worked."""


class _Timed:
    """A function on single records: what it took since the last sampled batch, by the task's number."""

    def __init__(self) -> None:
        self._seen: Mapping[int, Work] = {}
        self._grown: dict[int, Work] = {}

    def works_s(self, tasks: Sequence[TaskData], timed: Mapping[int, Work]) -> TaskWork:
        """As much for each record as since the last sampled batch, divided over the tasks as it was then."""
        grown = {task: work.minus(self._seen.get(task, _NO_WORK)) for task, work in timed.items()}
        if any(work.records for work in grown.values()):
            self._seen, self._grown = timed, grown
        records = sum(work.records for work in self._grown.values())
        rows = sum(map(rows_of, tasks))
        if not records or not rows:
            return [(task, run_s_of(task)) for task in tasks]
        if {number for number, work in self._grown.items() if work.records} <= {task.partition_id for task in tasks}:
            return [(task, self._grown.get(task.partition_id, _NO_WORK).busy_s * rows / records) for task in tasks]
        # Batches with more tasks than this one were timed too: their work cannot be divided by task number.
        record_s = sum(work.busy_s for work in self._grown.values()) / records
        return [(task, record_s * rows_of(task)) for task in tasks]


class _Line:
    """The last tasks of one stage, as rows and seconds, and a line through them.

    Its height at no rows is what a task costs beside its work, but no more than the shortest of them took, and stays
    when the cost of a row changes. So a row that costs more than before is counted as more work at once.
    """

    def __init__(self) -> None:
        self._tasks: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        self._row_s: float | None = None
        self._height_s = self._overhead_s = 0.0
        self._noise_s = 0.0

    def works_s(self, tasks: Sequence[TaskData]) -> TaskWork:
        """All of a task's time as long as what it costs beside its work is unknown."""
        self._learn([(rows_of(task), run_s_of(task)) for task in tasks])
        counts_rows = any(map(rows_of, tasks))
        return [
            (task, self._work_s(rows_of(task), run_s_of(task)) if rows_of(task) or not counts_rows else 0.0)
            for task in tasks
        ]

    def _work_s(self, rows: float, run_s: float) -> float:
        """As on the line if the task has less work than tasks differ by chance, and differs no more itself."""
        on_line_s = (self._row_s or 0.0) * rows
        off_s = run_s - self._height_s - on_line_s
        is_chance = on_line_s < self._noise_s and abs(off_s) <= _BY_CHANCE * self._noise_s
        return on_line_s if is_chance else max(0.0, run_s - self._overhead_s)

    def _learn(self, tasks: Sequence[tuple[float, float]]) -> None:
        """Fit the line again, to the new tasks alone if rows cost something else now."""
        if self._has_changed(tasks):
            self._tasks.clear()
        self._tasks.extend(tasks)
        rows, run_s = np.array(self._tasks).reshape(-1, 2).T
        if len(rows) < _ENOUGH or rows.max() < max(1.0, _APART * rows.min()):
            return
        one, other = np.triu_indices(len(rows), 1)
        apart = rows[one] != rows[other]
        slopes = (run_s[one] - run_s[other])[apart] / (rows[one] - rows[other])[apart]
        self._row_s = max(0.0, float(np.median(slopes)))
        beside_s = run_s - self._row_s * rows
        self._height_s = max(0.0, float(np.median(beside_s)))
        self._overhead_s = min(self._height_s, float(run_s.min()))
        self._noise_s = _STANDARD_DEVIATION * float(np.median(np.abs(beside_s - self._height_s)))

    def _has_changed(self, tasks: Sequence[tuple[float, float]]) -> bool:
        """Whether the time of most of these tasks is far from the line, and not by chance."""
        works_s = [(self._row_s * rows, run_s - self._height_s) for rows, run_s in tasks if rows and self._row_s]
        if not works_s:
            return False
        off_s = float(np.median([work_s - on_line_s for on_line_s, work_s in works_s]))
        ratio = float(np.median([work_s / on_line_s for on_line_s, work_s in works_s]))
        is_chance = abs(off_s) <= _BY_CHANCE * self._noise_s / np.sqrt(len(works_s))
        return not is_chance and not 1 / _CHANGED < ratio < _CHANGED
