"""Executor time on a cluster, with long tasks that follow each other without a gap."""

import threading
import time

import pytest

from rheostat.spark.observe.executor_time import ExecutorTime
from rheostat.spark.observe.status_store import StatusStore

pytestmark = pytest.mark.spark

TASKS, TASK_S = 10, 1.0


def test_the_time_of_running_tasks_is_within_five_percent_of_the_truth_at_any_moment(spark, eventually):
    store, context = StatusStore(spark), spark.sparkContext
    context.parallelize(range(2), 2).foreach(lambda _: None)
    times = ExecutorTime(store)
    before = {each.executor.id: each.held_s for each in times.update(store.executors(), (), time.time())}
    first = store.next_stage_id()
    job = threading.Thread(
        target=lambda: context.parallelize(range(TASKS), TASKS).foreach(lambda _: time.sleep(TASK_S))
    )
    job.start()
    readings: list[tuple[float, float, float]] = []
    while job.is_alive():
        from_s = time.time()
        executors, active = store.executors(), store.active_stages()
        now_s = time.time()
        held = times.update(executors, active, now_s)
        readings.append((from_s, now_s, sum(each.held_s - before.get(each.executor.id, 0.0) for each in held)))
        time.sleep(0.1)
    job.join()
    stage = eventually(lambda: ((found := store.stage(first)) and found.finished and found) or None, "the stage's end")
    tasks = store.tasks(stage)
    assert len(tasks) == TASKS

    def truth_s(time_s: float) -> float:
        return sum(min((task.duration or 0) / 1000, task.elapsed_s(time_s)) for task in tasks)

    compared = [
        (truth_s(from_s), held_s, truth_s(now_s)) for from_s, now_s, held_s in readings if truth_s(from_s) > 2 * TASK_S
    ]
    assert len(compared) > 10
    wrong = [each for each in compared if not 0.95 * each[0] <= each[1] <= 1.05 * each[2]]
    assert len(wrong) <= len(compared) / 20, wrong
