import pytest

from rheostat.spark.observe.executor_time import useful_times
from rheostat.spark.observe.status_store import ExecutorFigures, TaskFigures


class FakeStore:
    def __init__(self, *executors: ExecutorFigures, running: tuple[TaskFigures, ...] = ()) -> None:
        self._executors, self._running = list(executors), list(running)
        self.asked_for_tasks = False

    def executors(self) -> list[ExecutorFigures]:
        return self._executors

    def running_tasks(self) -> list[TaskFigures]:
        self.asked_for_tasks = True
        return self._running


def executor(name: str, *, slots: int = 1, active: int = 0, done_ms: int = 0) -> ExecutorFigures:
    return ExecutorFigures(id=name, host_port="h:1", slots=slots, active_tasks=active, total_duration=done_ms)


def running(name: str, since_s: float) -> TaskFigures:
    return TaskFigures(executor_id=name, status="RUNNING", launch_time=round(since_s * 1000))


def test_tasks_under_way_count_as_far_as_they_have_come():
    store = FakeStore(executor("1", active=1, done_ms=4000), executor("2", done_ms=500), running=(running("1", 97.5),))
    assert {each.executor.id: each.useful_s for each in useful_times(store, 100.0)} == {"1": 6.5, "2": 0.5}


def test_an_executor_is_useful_all_the_time_when_all_its_slots_are():
    store = FakeStore(executor("1", slots=2, active=2, done_ms=6000), running=(running("1", 98.0), running("1", 99.0)))
    [only] = useful_times(store, 100.0)
    assert only.useful_s == pytest.approx(4.5)


def test_nobody_is_asked_for_tasks_when_none_run():
    store = FakeStore(executor("1", done_ms=1000))
    assert [each.useful_s for each in useful_times(store, 100.0)] == [1.0]
    assert not store.asked_for_tasks


def test_a_task_launched_a_moment_ahead_of_the_clock_counts_nothing():
    store = FakeStore(executor("1", active=1), running=(running("1", 100.5),))
    assert [each.useful_s for each in useful_times(store, 100.0)] == [0.0]
