import pytest

from rheostat.spark.observe.running_batches import RunningBatches
from rheostat.spark.observe.status_store import ActiveStage, StageData, StageShare, TaskData, shares_of

RUN = "27eb23d3-acda-4960-884d-2a191e071a86"


class FakeStore:
    """What executors have done of stages in the end, by stage."""

    def __init__(self) -> None:
        self.final: dict[int, dict[str, StageShare]] = {}
        self.asked_for: list[int] = []

    def shares(self, stage: StageData) -> dict[str, StageShare]:
        self.asked_for.append(stage.stage_id)
        return self.final[stage.stage_id]


def stage(number: int, batch: int, tasks: int, **done: StageShare) -> ActiveStage:
    data = StageData(number, 0, "ACTIVE", f"x\nrunId = {RUN}\nbatch = {batch}", tasks, 5_000 + number)
    return ActiveStage(data, (TaskData(executor_id="7", status="RUNNING"),), done)


def test_a_batch_has_the_tasks_of_its_stage_and_what_executors_have_done_of_it():
    one = stage(3, 1, tasks=8, a=StageShare(4_000, 2), b=StageShare(2_000, 1))
    batch = RunningBatches(FakeStore()).update([one])[RUN]
    assert (batch.tasks, batch.finished, batch.finished_s, batch.running) == (8, 3, 6.0, one.running)
    assert batch.started_s == pytest.approx(5.003)


def test_the_stages_before_the_active_one_belong_to_the_batch():
    store = FakeStore()
    batches = RunningBatches(store)
    batches.update([stage(3, 1, tasks=4, a=StageShare(1_000, 1))])
    assert batches.update([]) == {}, "between two stages"
    store.final[3] = {"a": StageShare(4_000, 4)}
    for _ in range(2):
        batch = batches.update([stage(4, 1, tasks=6, a=StageShare(500, 1))])[RUN]
        assert (batch.tasks, batch.finished, batch.finished_s, len(batch.running)) == (10, 5, 4.5, 1)
    assert store.asked_for == [3], "a finished stage does not change"
    assert batches.update([stage(5, 2, tasks=4)])[RUN].tasks == 4, "another batch"


def test_stages_of_no_streaming_query_are_no_batches():
    other = ActiveStage(StageData(1, 0, "ACTIVE", "collect at x.py:1"), (), {})
    assert RunningBatches(FakeStore()).update([other]) == {}


def test_what_executors_have_done_is_added_up_from_the_tasks_that_have_ended():
    ended = [
        TaskData(0, 0, "7", "SUCCESS", duration=300),
        TaskData(1, 1, "7", "FAILED", duration=50),
        TaskData(2, 2, "8", "SUCCESS", duration=100),
    ]
    assert shares_of(ended) == {"7": StageShare(350, 1), "8": StageShare(100, 1)}
