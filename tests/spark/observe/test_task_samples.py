import pytest

from rheostat.spark.observe.status_store import ReadMetrics, StageData, TaskData, TaskMetrics
from rheostat.spark.observe.task_samples import BatchTasks, TaskSampler

RUN = "27eb23d3-acda-4960-884d-2a191e071a86"
OTHER = "c33b18dd-1e80-4550-91b5-03af40d4275c"


def task(index: int, executor: str, run_ms: int, *, read: int = 0, shuffled: int = 0, status="SUCCESS") -> TaskData:
    metrics = TaskMetrics(run_ms, ReadMetrics(read), ReadMetrics(shuffled))
    return TaskData(index, index, executor, status, 0, metrics)


def stage(number: int, run: str, batch: int, status: str = "COMPLETE") -> StageData:
    return StageData(number, 0, status, f"name\nid = {OTHER}\nrunId = {run}\nbatch = {batch}")


class FakeStore:
    """Stages with their tasks; it counts what is asked."""

    def __init__(self, *stages: StageData, tasks: dict[int, list[TaskData]] | None = None) -> None:
        self._stages = {each.stage_id: each for each in stages}
        self._tasks = tasks or {}
        self.looks = 0

    def next_stage_id(self) -> int:
        return max(self._stages) + 1

    def stage(self, number: int) -> StageData | None:
        self.looks += 1
        return self._stages.get(number)

    def tasks(self, stage: StageData) -> list[TaskData]:
        return self._tasks.get(stage.stage_id, [task(0, "1", 10)])


def test_shares_are_those_of_the_rows_in_the_stage_with_most_of_the_work():
    small = (task(0, "9", 1, read=1000),)
    large = (task(0, "1", 100, read=30), task(1, "2", 100, read=10))
    tasks = BatchTasks(1, (small, large))
    assert tasks.by_executor() == {"1": 0.75, "2": 0.25}
    assert tasks.run_s() == pytest.approx({"9": 0.001, "1": 0.1, "2": 0.1})
    assert tasks.count == 3


def test_work_stands_for_rows_that_are_not_counted():
    assert BatchTasks(1, ((task(0, "1", 30), task(1, "2", 10)),)).by_executor() == {"1": 0.75, "2": 0.25}
    assert BatchTasks(1, ()).by_executor() == {}


def test_substreams_are_the_tasks_of_the_last_stage_that_has_one_for_each():
    first = (task(0, "1", 1, read=4), task(1, "1", 1, read=4))
    second = (task(0, "1", 1, shuffled=1), task(1, "2", 1, shuffled=3))
    tasks = BatchTasks(1, (first, second))
    assert tasks.by_substream(2) == [0.25, 0.75]
    assert tasks.by_substream(3) is None


def test_a_batch_is_sampled_once_with_all_its_stages_in_order():
    tasks = {3: [task(0, "1", 10)], 4: [task(0, "2", 20), task(1, "3", 5, status="FAILED")]}
    store = FakeStore(stage(2, RUN, 6), stage(3, RUN, 7), stage(4, RUN, 7), stage(5, RUN, 8), tasks=tasks)
    sampler = TaskSampler(store)
    found = sampler.sample({RUN: 7})
    assert [[t.executor_id for t in stage] for stage in found[RUN].stages] == [["1"], ["2"]]
    assert found[RUN].batch == 7
    assert sampler.sample({RUN: 7}) == {}


def test_the_search_ends_when_all_queries_are_found():
    old = [stage(number, RUN, 0) for number in range(20)]
    store = FakeStore(*old, stage(20, OTHER, 4), stage(21, RUN, 1), stage(22, RUN, 2), stage(23, OTHER, 5))
    found = TaskSampler(store).sample({RUN: 2, OTHER: 5})
    assert {run: tasks.batch for run, tasks in found.items()} == {RUN: 2, OTHER: 5}
    assert store.looks == 4


def test_the_search_is_bounded():
    store = FakeStore(*[stage(number, OTHER, number) for number in range(1000)])
    assert TaskSampler(store).sample({RUN: 5}) == {}
    assert store.looks == 100


def test_stages_that_are_skipped_gone_or_not_a_querys_are_passed_over():
    plain = StageData(2, 0, "COMPLETE", "collect at somewhere")
    store = FakeStore(stage(0, RUN, 1), plain, stage(3, RUN, 1, status="SKIPPED"))
    assert len(TaskSampler(store).sample({RUN: 1})[RUN].stages) == 1


def test_tasks_hold_slots_from_launch_to_end_which_is_longer_than_they_run():
    ran = TaskMetrics(executor_run_time=400)
    tasks = (TaskData(0, 0, "7", "SUCCESS", 0, ran, duration=700), TaskData(1, 1, "7", "SUCCESS", 0, ran))
    assert BatchTasks(0, (tasks,)).held_s() == pytest.approx({"7": 1.1})


def test_a_batch_that_is_not_found_is_not_searched_for_ever():
    store = FakeStore(*[stage(number, OTHER, number) for number in range(200)])
    sampler = TaskSampler(store)
    for _ in range(10):
        assert sampler.sample({RUN: 5}) == {}
    assert store.looks == 300
    sampler.sample({RUN: 6})
    assert store.looks == 400, "the next one is"
