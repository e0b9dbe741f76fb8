"""The work in the time of tasks, told apart from what a task costs however few its rows are.

A micro-batch has its tasks whatever it holds, and each must be started, open files, commit state. Counted as work this
would make an operator seem the slower by the row the smaller its batches are, and busy when it has next to nothing to
do. In the model of a micro-batch it is a part of the batch's fixed cost.

A function on single records is timed itself, which tells the rest of its tasks. Of other functions the time of tasks is
taken as a line over their rows: where it begins is what a task costs.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from rheostat.spark.metering.status import TaskFigures
from rheostat.spark.metering.tasks import BatchTasks, rows_of, run_s_of
from rheostat.spark.queries.timings import Timings

_REMEMBERED = 64
_ENOUGH = 8
_APART = 1.2
"""How many times as many rows some task must have as another, for a line to be laid through both."""

_LEAST_SHARE = 0.01
"""Of a task's time that counts as work: an operator that seems to cost nothing would have no service rate."""


class Works:
    """The work of an operator's batches, learned from one sampled batch to the next."""

    def __init__(self) -> None:
        self._lines: dict[int, _Line] = {}
        self._timed = (0, 0.0)
        self._record_s: float | None = None

    def of(self, sample: BatchTasks, timings: Timings | None) -> dict[str, float]:
        """What each executor worked on this batch, in slot seconds. `timings` are those of the function on single
        records that is all of the query, if it is one."""
        if timings is None:
            stages = [self._line(number).work_s(tasks) for number, tasks in enumerate(sample.stages)]
        else:
            stages = [self._timed_work_s(sample.main(), timings)]
        worked: dict[str, float] = {}
        for executor, work_s in (each for stage in stages for each in stage):
            worked[executor] = worked.get(executor, 0.0) + work_s
        return worked

    def _line(self, stage: int) -> "_Line":
        return self._lines.setdefault(stage, _Line())

    def _timed_work_s(self, tasks: Sequence[TaskFigures], timings: Timings) -> list[tuple[str, float]]:
        """What the function took by the record since the last batch, over the records of this one."""
        records, busy_s = timings.records - self._timed[0], timings.busy_s - self._timed[1]
        if records > 0:
            self._timed, self._record_s = (timings.records, timings.busy_s), busy_s / records
        rows = sum(map(rows_of, tasks))
        if self._record_s is None or not rows:
            return _above(tasks, 0.0)
        return _above(tasks, (sum(map(run_s_of, tasks)) - self._record_s * rows) / len(tasks))


class _Line:
    """The last tasks of one stage, as rows and seconds."""

    def __init__(self) -> None:
        self._tasks: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)

    def work_s(self, tasks: Sequence[TaskFigures]) -> list[tuple[str, float]]:
        self._tasks.extend((rows_of(task), run_s_of(task)) for task in tasks)
        return _above(tasks, self._begins_at_s())

    def _begins_at_s(self) -> float:
        """By the median of all slopes (Theil and Sen): some tasks always come upon a cold executor. Where nearly all
        tasks have the same rows the line is not known, and all of their time is taken for work."""
        rows, run_s = np.array(self._tasks).T
        if len(rows) < _ENOUGH or rows.max() < _APART * max(1.0, rows.min()):
            return 0.0
        one, other = np.triu_indices(len(rows), 1)
        apart = rows[one] != rows[other]
        slopes = (run_s[one] - run_s[other])[apart] / (rows[one] - rows[other])[apart]
        return float(np.median(run_s - max(0.0, float(np.median(slopes))) * rows))


def _above(tasks: Sequence[TaskFigures], overhead_s: float) -> list[tuple[str, float]]:
    """By executor what each task took beyond `overhead_s`."""
    times = [(task.executor_id, run_s_of(task)) for task in tasks]
    return [(executor, max(_LEAST_SHARE * run_s, run_s - max(0.0, overhead_s))) for executor, run_s in times]
