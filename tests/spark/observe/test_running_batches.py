import pytest

from rheostat.spark.observe.running_batches import RunningBatches
from rheostat.spark.observe.status_store import ActiveStage, StageData, TaskData, TaskMetrics

RUN = "27eb23d3-acda-4960-884d-2a191e071a86"


class FakeStore:
    """The stages that are known, with their running tasks."""

    def __init__(self) -> None:
        self.stages: dict[int, StageData] = {}
        self.running: dict[int, list[TaskData]] = {}
        self.asked_for: list[int] = []

    def active_stages(self) -> list[ActiveStage]:
        active = [stage for stage in self.stages.values() if not stage.finished]
        return [ActiveStage(stage, tuple(self.running.get(stage.stage_id, ()))) for stage in active]

    def stage(self, stage_id: int) -> StageData | None:
        self.asked_for.append(stage_id)
        return self.stages.get(stage_id)


def stage(number: int, batch: int, tasks: int, finished: int, run_ms: int = 0, status: str = "ACTIVE") -> StageData:
    return StageData(number, 0, status, f"x\nrunId = {RUN}\nbatch = {batch}", tasks, finished, 5_000 + number, run_ms)


def test_the_time_that_running_tasks_have_reported_is_not_that_of_finished_ones():
    store = FakeStore()
    store.stages[3] = stage(3, batch=1, tasks=8, finished=2, run_ms=9_000)
    store.running[3] = [TaskData(2, 2, "7", "RUNNING", 6_000, TaskMetrics(3_000)), TaskData(3, 3, "8", "RUNNING")]
    batch = RunningBatches(store).update(store.active_stages())[RUN]
    assert (batch.tasks, batch.finished, batch.finished_s, len(batch.running)) == (8, 2, 6.0, 2)
    assert batch.started_s == pytest.approx(5.003)


def test_the_stages_before_the_active_one_belong_to_the_batch():
    store = FakeStore()
    batches = RunningBatches(store)
    store.stages[3] = stage(3, batch=1, tasks=4, finished=1, run_ms=1_000)
    batches.update(store.active_stages())
    store.stages[3] = stage(3, batch=1, tasks=4, finished=4, run_ms=4_000, status="COMPLETE")
    assert batches.update(store.active_stages()) == {}, "between two stages"
    store.stages[4] = stage(4, batch=1, tasks=6, finished=1, run_ms=500)
    for _ in range(2):
        batch = batches.update(store.active_stages())[RUN]
        assert (batch.tasks, batch.finished, batch.finished_s) == (10, 5, 4.5)
    assert store.asked_for == [3], "a finished stage does not change"
    store.stages = {5: stage(5, batch=2, tasks=4, finished=0)}
    assert batches.update(store.active_stages())[RUN].tasks == 4, "another batch"


def test_stages_of_no_streaming_query_are_no_batches():
    other = ActiveStage(StageData(1, 0, "ACTIVE", "collect at x.py:1"), ())
    assert RunningBatches(FakeStore()).update([other]) == {}
