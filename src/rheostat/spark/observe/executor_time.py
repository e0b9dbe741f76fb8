"""Executor time: how long tasks have held each executor, those that still run included.

Spark adds up the tasks of an executor when they end. Without the running ones a long task would seem to happen all at
once, and its executor to be idle before and overloaded then.
"""

from typing import NamedTuple

from rheostat.spark.observe.status_store import ExecutorSummary, StatusStore

_MS = 1e-3


class HeldTime(NamedTuple):
    """An executor, and how long tasks have held it: a second is a second of all its slots."""

    executor: ExecutorSummary
    held_s: float


def held_times(store: StatusStore, now_s: float) -> list[HeldTime]:
    """Of all executors that live. A task that ends between two of the questions may be missing once.

    Running tasks are looked up in the active stages: an executor's summary may not show them (see `status_store`).
    """
    executors = store.executors()
    running_s: dict[str, float] = {}
    for task in (task for stage in store.active_stages() for task in store.running_tasks(stage)):
        elapsed_s = max(0.0, now_s - task.launch_time * _MS)
        running_s[task.executor_id] = running_s.get(task.executor_id, 0.0) + elapsed_s
    return [HeldTime(each, (each.task_s + running_s.get(each.id, 0.0)) / max(1, each.slots)) for each in executors]
