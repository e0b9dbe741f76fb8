"""Executor time on a cluster, with long tasks that follow each other without a gap."""

import threading
import time

import pytest

from rheostat.spark.observe.executor_time import held_times
from rheostat.spark.observe.status_store import StatusStore

pytestmark = pytest.mark.spark

TASKS, TASK_S = 10, 1.0


def test_the_time_of_running_tasks_is_within_five_percent_of_the_truth_at_any_moment(spark, eventually):
    store, context = StatusStore(spark), spark.sparkContext
    context.parallelize(range(2), 2).foreach(lambda _: None)
    before = {each.executor.id: each.held_s for each in held_times(store.executors(), (), time.time())}
    first = store.next_stage_id()
    job = threading.Thread(
        target=lambda: context.parallelize(range(TASKS), TASKS).foreach(lambda _: time.sleep(TASK_S))
    )
    job.start()
    readings: list[tuple[float, float]] = []
    while job.is_alive():
        (executors, active), now_s = store.executors_and_active_stages(), time.time()
        held = held_times(executors, (task for stage in active for task in stage.running), now_s)
        readings.append((now_s, sum(each.held_s - before.get(each.executor.id, 0.0) for each in held)))
        time.sleep(0.1)
    job.join()
    stage = eventually(lambda: ((found := store.stage(first)) and found.finished and found) or None, "the stage's end")
    tasks = store.tasks(stage)
    assert len(tasks) == TASKS

    def truth_s(time_s: float) -> float:
        return sum(min((task.duration or 0) / 1000, task.elapsed_s(time_s)) for task in tasks)

    compared = [(held_s, truth_s(time_s)) for time_s, held_s in readings if truth_s(time_s) > 2 * TASK_S]
    assert len(compared) > 10
    off = [abs(held_s - true_s) / true_s for held_s, true_s in compared]
    assert sorted(off)[int(0.9 * len(off))] < 0.05, sorted(off)[-5:]
