"""The work in the time of tasks, told apart from what a task costs however few its rows are.

A micro-batch has its tasks whatever it holds, and each must be started, open files, commit state. Counted as work this
would make an operator seem the slower by the row the smaller its batches are, and busy when it has next to nothing to
do. In the model of a micro-batch it is a part of the batch's fixed cost.

A function on single records is timed itself, task by task. Of other functions the time of tasks is taken as a line over
their rows: how steep it is, is what a row costs, on whichever executor.
"""

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np

from rheostat.spark.observe.status_store import TaskData
from rheostat.spark.observe.task_samples import BatchTasks, rows_of, run_s_of
from rheostat.spark.query.per_record.timings import Timings, Work

_REMEMBERED = 64
_ENOUGH = 8
_APART = 1.2
"""How many times as many rows some task must have as another, for a line to be laid through both."""

_LEAST_SHARE = 0.01
"""Of a task's time that counts as work: an operator that seems to cost nothing would have no service rate."""

_NO_WORK = Work(0, 0.0)


class Works:
    """The work of an operator's batches, learned from one sampled batch to the next."""

    def __init__(self) -> None:
        self._lines: dict[int, _Line] = {}
        self._timed = _Timed()

    def of(self, sample: BatchTasks, timings: Timings | None) -> dict[str, float]:
        """What each executor worked on this batch, in slot seconds. `timings` are those of the function on single
        records that is all of the query, if it is one."""
        if timings is None:
            stages = [self._lines.setdefault(n, _Line()).works_s(tasks) for n, tasks in enumerate(sample.stages)]
        else:
            stages = [self._timed.works_s(sample.main(), timings.tasks)]
        worked: dict[str, float] = {}
        for task, work_s in (each for stage in stages for each in stage):
            at_least_s = max(_LEAST_SHARE * run_s_of(task), work_s)
            worked[task.executor_id] = worked.get(task.executor_id, 0.0) + at_least_s
        return worked


TaskWorks = list[tuple[TaskData, float]]


class _Timed:
    """A function on single records: what it took since the last batch, by the task's number."""

    def __init__(self) -> None:
        self._seen: Mapping[int, Work] = {}
        self._grown: dict[int, Work] = {}

    def works_s(self, tasks: Sequence[TaskData], timed: Mapping[int, Work]) -> TaskWorks:
        """As much by the record as since the last batch, shared out as it was then."""
        grown = {task: work.minus(self._seen.get(task, _NO_WORK)) for task, work in timed.items()}
        if any(work.records for work in grown.values()):
            self._seen, self._grown = timed, grown
        records = sum(work.records for work in self._grown.values())
        rows = sum(map(rows_of, tasks))
        if not records or not rows:
            return [(task, run_s_of(task)) for task in tasks]
        if {number for number, work in self._grown.items() if work.records} <= {task.partition_id for task in tasks}:
            return [(task, self._grown.get(task.partition_id, _NO_WORK).busy_s * rows / records) for task in tasks]
        # Batches with more tasks were timed as well: what those did is nobody's here.
        record_s = sum(work.busy_s for work in self._grown.values()) / records
        return [(task, record_s * rows_of(task)) for task in tasks]


class _Line:
    """The last tasks of one stage, as rows and seconds."""

    def __init__(self) -> None:
        self._tasks: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)

    def works_s(self, tasks: Sequence[TaskData]) -> TaskWorks:
        """All of a task's time as long as it is not known what a row costs."""
        self._tasks.extend((rows_of(task), run_s_of(task)) for task in tasks)
        row_s = self._row_s()
        return [(task, run_s_of(task) if row_s is None else row_s * rows_of(task)) for task in tasks]

    def _row_s(self) -> float | None:
        """The median of all slopes (Theil and Sen): some tasks always come upon a cold executor. None where nearly all
        tasks have the same rows."""
        rows, run_s = np.array(self._tasks).reshape(-1, 2).T
        if len(rows) < _ENOUGH or rows.max() < _APART * max(1.0, rows.min()):
            return None
        one, other = np.triu_indices(len(rows), 1)
        apart = rows[one] != rows[other]
        return max(0.0, float(np.median((run_s[one] - run_s[other])[apart] / (rows[one] - rows[other])[apart])))
