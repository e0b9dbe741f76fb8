import pytest

from rheostat.spark.observe.executor_time import ExecutorTime
from rheostat.spark.observe.status_store import ActiveStage, ExecutorSummary, StageData, StageShare, TaskData


class FakeStore:
    """What executors have done of stages, by stage."""

    def __init__(self) -> None:
        self.final: dict[int, dict[str, StageShare]] = {}

    def shares(self, stage: StageData) -> dict[str, StageShare]:
        return self.final[stage.stage_id]


def executor(name: str, *, slots: int = 1, done_ms: int = 0, active: int = 0) -> ExecutorSummary:
    return ExecutorSummary(id=name, host_port="h:1", slots=slots, total_duration=done_ms, active_tasks=active)


def running(name: str, since_s: float) -> TaskData:
    return TaskData(executor_id=name, status="RUNNING", launch_time=round(since_s * 1000))


def stage(number: int, *tasks: TaskData, **done_ms: int) -> ActiveStage:
    """With running tasks, and so much done by executors e1, e2, ..."""
    shares = {name[1:]: StageShare(time_ms, 1) for name, time_ms in done_ms.items()}
    return ActiveStage(StageData(number), tasks, shares)


def held_s(times: ExecutorTime, *executors: ExecutorSummary, active: tuple[ActiveStage, ...] = ()) -> dict[str, float]:
    return {each.executor.id: each.held_s for each in times.update(executors, active, 100.0)}


def test_running_tasks_of_all_active_stages_count_up_to_now():
    executors = (executor("1", done_ms=4000), executor("2", done_ms=500))
    active = (stage(1, running("1", 97.5)), stage(2, running("2", 98.0)))
    assert held_s(ExecutorTime(FakeStore()), *executors, active=active) == {"1": 6.5, "2": 2.5}


def test_an_executor_is_held_all_the_time_when_all_its_slots_are():
    active = (stage(1, running("1", 98.0), running("1", 99.0)),)
    executors = (executor("1", slots=2, done_ms=6000),)
    assert held_s(ExecutorTime(FakeStore()), *executors, active=active) == pytest.approx({"1": 4.5})


def test_a_task_launched_a_moment_ahead_of_the_clock_counts_nothing():
    active = (stage(1, running("1", 100.5)),)
    assert held_s(ExecutorTime(FakeStore()), executor("1"), active=active) == {"1": 0.0}


def test_a_task_that_has_ended_counts_though_the_executors_summary_was_not_written():
    store = FakeStore()
    times = ExecutorTime(store)
    assert held_s(times, executor("1", done_ms=5000)) == {"1": 5.0}
    stale = executor("1", done_ms=5000, active=2)
    assert held_s(times, stale, active=(stage(7, running("1", 99.0), e1=3000),)) == {"1": 9.0}
    store.final[7] = {"1": StageShare(4000, 2)}
    assert held_s(times, stale, active=(stage(8, running("1", 99.5)),)) == {"1": 9.5}
    store.final[8] = {"1": StageShare(500, 1)}
    assert held_s(times, executor("1", done_ms=9_500)) == {"1": 9.5}, "no task runs: the summary is up to date"


def test_stages_that_were_not_seen_count_when_the_summary_shows_them():
    times = ExecutorTime(FakeStore())
    assert held_s(times, executor("1", done_ms=1000, active=1)) == {"1": 1.0}
    assert held_s(times, executor("1", done_ms=1800, active=1)) == {"1": 1.8}


def test_a_task_that_ends_between_the_reading_of_executors_and_of_stages_is_not_taken_off():
    store = FakeStore()
    times = ExecutorTime(store)
    assert held_s(times, executor("1", done_ms=5000)) == {"1": 5.0}
    idle_when_read = executor("1", done_ms=5000)
    assert held_s(times, idle_when_read, active=(stage(7, running("1", 99.5), e1=1000),)) == {"1": 6.5}
    assert held_s(times, executor("1", done_ms=5000, active=1), active=(stage(7, e1=1500),)) == {"1": 6.5}
    store.final[7] = {"1": StageShare(2000, 3)}
    assert held_s(times, executor("1", done_ms=6500)) == {"1": 7.0}, "the last task ended after executors were read"
    assert held_s(times, executor("1", done_ms=7000)) == {"1": 7.0}
