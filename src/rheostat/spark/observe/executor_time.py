"""Executor time: how long tasks have held each executor, those that still run included.

Spark adds up the tasks of an executor when they end. Without the running ones a long task would seem to happen all at
once, and its executor to be idle before and overloaded then.
"""

from collections.abc import Iterable
from typing import NamedTuple

from rheostat.spark.observe.status_store import ExecutorSummary, TaskData


class HeldTime(NamedTuple):
    """An executor, and how long tasks have held it: a second is a second of all its slots."""

    executor: ExecutorSummary
    held_s: float


def held_times(executors: Iterable[ExecutorSummary], running: Iterable[TaskData], now_s: float) -> list[HeldTime]:
    """Of all `executors`. A task that ended between the questions for both may be missing once.

    Running tasks are those of the active stages: an executor's summary may not show them (see `status_store`).
    """
    running_s: dict[str, float] = {}
    for task in running:
        running_s[task.executor_id] = running_s.get(task.executor_id, 0.0) + task.elapsed_s(now_s)
    return [HeldTime(each, (each.task_s + running_s.get(each.id, 0.0)) / max(1, each.slots)) for each in executors]
