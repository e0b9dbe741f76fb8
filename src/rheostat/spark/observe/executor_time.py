"""The useful time of executors: all tasks they have finished, and those under way as far as they have come.

Spark books a task when it ends. Without the tasks under way a long one would seem to be done all at once, and an
executor to be idle before and overloaded then.
"""

from typing import NamedTuple

from rheostat.spark.observe.status_store import ExecutorFigures, StatusStore

_MS = 1e-3


class Useful(NamedTuple):
    """An executor, and the seconds for which all of its slots together would have been in use."""

    executor: ExecutorFigures
    useful_s: float


def useful_times(store: StatusStore, now_s: float) -> list[Useful]:
    """Of all executors that live. A task that ends between two questions may be missing once."""
    executors = store.executors()
    running_s: dict[str, float] = {}
    for task in store.running_tasks() if any(executor.active_tasks for executor in executors) else ():
        elapsed_s = max(0.0, now_s - task.launch_time * _MS)
        running_s[task.executor_id] = running_s.get(task.executor_id, 0.0) + elapsed_s
    return [Useful(each, (each.task_s + running_s.get(each.id, 0.0)) / max(1, each.slots)) for each in executors]
