import pytest
from msgspec.structs import replace

from rheostat.spark.observe.running_batches import RunningBatch, RunningBatches
from rheostat.spark.observe.status_store import ActiveStage, StageData, StageShare, TaskData, shares_of

RUN = "27eb23d3-acda-4960-884d-2a191e071a86"


class FakeStore:
    """What executors have done of stages in the end, by stage."""

    def __init__(self) -> None:
        self.final: dict[int, dict[str, StageShare]] = {}
        self.ended: dict[int, StageData] = {}
        self.asked_for: list[int] = []

    def stage(self, stage_id: int) -> StageData | None:
        return self.ended.get(stage_id)

    def shares(self, stage: StageData) -> dict[str, StageShare]:
        self.asked_for.append(stage.stage_id)
        return self.final[stage.stage_id]


def stage(number: int, batch: int, tasks: int, **done: StageShare) -> ActiveStage:
    data = StageData(number, 0, "ACTIVE", f"x\nrunId = {RUN}\nbatch = {batch}", tasks, 5_000 + number)
    return ActiveStage(data, (TaskData(executor_id="7", status="RUNNING"),), done)


def finished(batch: RunningBatch) -> tuple[int, float]:
    """Tasks, and their time."""
    return sum(share.succeeded_tasks for _, share in batch.done), sum(share.task_s for _, share in batch.done)


def test_a_batch_has_the_tasks_of_its_stage_and_what_executors_have_done_of_it():
    one = stage(3, 1, tasks=8, a=StageShare(4_000, 2), b=StageShare(2_000, 1))
    batch = RunningBatches(FakeStore()).update([one])[RUN]
    assert (batch.tasks, *finished(batch), batch.running) == (8, 3, 6.0, one.running)
    assert batch.started_s == pytest.approx(5.003)


def test_the_stages_before_the_active_one_belong_to_the_batch():
    store = FakeStore()
    batches = RunningBatches(store)
    batches.update([stage(3, 1, tasks=4, a=StageShare(1_000, 1))])
    assert batches.update([]) == {}, "between two stages"
    store.final[3] = {"a": StageShare(4_000, 4)}
    for _ in range(2):
        batch = batches.update([stage(4, 1, tasks=6, a=StageShare(500, 1))])[RUN]
        assert (batch.tasks, *finished(batch), len(batch.running)) == (10, 5, 4.5, 1)
    assert store.asked_for == [3], "a finished stage does not change"
    assert batches.update([stage(5, 2, tasks=4)])[RUN].tasks == 4, "another batch"


def test_stages_that_had_ended_before_the_batch_was_seen_belong_to_it():
    store = FakeStore()
    of_batch = {1: 0, 2: 0, 3: 1, 4: 1, 6: 1}
    store.ended = {n: replace(stage(n, b, tasks=4).stage, status="COMPLETE") for n, b in of_batch.items()}
    store.ended[5] = StageData(5, 0, "COMPLETE", "collect at x.py:1", 9)
    store.final = {n: {"a": StageShare(1_000, 4, 10 * n)} for n in store.ended}
    batches = RunningBatches(store)
    for _ in range(2):
        batch = batches.update([stage(7, 1, tasks=6)])[RUN]
        assert (batch.tasks, *finished(batch)) == (18, 12, 3.0)
        assert (batch.rows, batch.read, batch.started_s) == (130, 1.0, pytest.approx(5.003))
    assert store.asked_for == [6, 4, 3], "once, and not of the batch before"


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


@pytest.mark.parametrize(
    ("done", "rows"),
    [
        pytest.param({}, None, id="no task has finished"),
        pytest.param({"a": StageShare(1_000, 1, 15)}, None, id="one task says little of the others"),
        pytest.param({"a": StageShare(4_000, 2, 31), "b": StageShare(2_000, 1, 14)}, 120, id="the others read as much"),
        pytest.param({"a": StageShare(4_000, 4)}, None, id="nothing is read from a source"),
    ],
)
def test_rows_of_a_batch_follow_from_what_its_finished_tasks_have_read(done, rows):
    one = stage(3, 1, 8, **done)
    assert RunningBatches(FakeStore()).update([one])[RUN].rows == rows


def test_rows_of_a_batch_are_those_of_all_stages_that_read():
    stages = [stage(3, 1, 8, a=StageShare(4_000, 2, 30)), stage(4, 1, 2, a=StageShare(400, 2, 7))]
    assert RunningBatches(FakeStore()).update(stages)[RUN].rows == 127
