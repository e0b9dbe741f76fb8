import pytest

from rheostat.spark.observe.executor_time import held_times
from rheostat.spark.observe.status_store import ExecutorSummary, TaskData


def executor(name: str, *, slots: int = 1, done_ms: int = 0) -> ExecutorSummary:
    return ExecutorSummary(id=name, host_port="h:1", slots=slots, total_duration=done_ms)


def running(name: str, since_s: float) -> TaskData:
    return TaskData(executor_id=name, status="RUNNING", launch_time=round(since_s * 1000))


def held_s(*executors: ExecutorSummary, running: tuple[TaskData, ...] = ()) -> dict[str, float]:
    return {each.executor.id: each.held_s for each in held_times(executors, running, 100.0)}


def test_running_tasks_count_up_to_now_whatever_the_executors_summary_shows():
    executors = (executor("1", done_ms=4000), executor("2", done_ms=500))
    assert held_s(*executors, running=(running("1", 97.5),)) == {"1": 6.5, "2": 0.5}


def test_an_executor_is_held_all_the_time_when_all_its_slots_are():
    tasks = (running("1", 98.0), running("1", 99.0))
    assert held_s(executor("1", slots=2, done_ms=6000), running=tasks) == pytest.approx({"1": 4.5})


def test_a_task_launched_a_moment_ahead_of_the_clock_counts_nothing():
    assert held_s(executor("1"), running=(running("1", 100.5),)) == {"1": 0.0}
