import pytest

from rheostat.snapshot import Batch, BatchUnderWay, Latency, OperatorState, Snapshot, StreamState
from rheostat.spark.kafka.query_topics import TopicLoad
from rheostat.spark.observe.application_meter import ApplicationMeter
from rheostat.spark.observe.running_batches import RunningBatch
from rheostat.spark.observe.status_store import ReadMetrics, StageShare, TaskData, TaskMetrics
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.topology import Operator, Source, Topology

APPLICATION = Topology("app", [Source("queries"), Operator("application", inputs="queries")])


class FakeRun:
    trigger_s = 0.0
    earlier: tuple[BatchRecord, ...] = ()

    load: TopicLoad | None = None

    def __init__(self, name: str, *batches: BatchRecord) -> None:
        self.id = self.run_id = self.name = name
        self._coming = list(batches)

    def is_processing(self) -> bool:
        return False

    def failure(self) -> str | None:
        return None

    def topic_load(self, now_s: float) -> TopicLoad | None:
        return self.load

    def new_batches(self) -> list[BatchRecord]:
        coming, self._coming = self._coming, []
        return coming


class FakeQueries:
    def __init__(self, *runs: FakeRun) -> None:
        self.running = {run.run_id: run for run in runs}
        self.down: dict[str, FakeRun] = {}
        self._ended: list[FakeRun] = []

    def update(self) -> list[FakeRun]:
        ended, self._ended = self._ended, []
        return ended

    def end(self, name: str) -> None:
        self._ended.append(self.running.pop(name))


def batch(rows: int, behind: int) -> BatchRecord:
    return BatchRecord(1, 0.0, 2.0, {"topic": rows}, 1.5, behind=behind)


def task(executor: str, rows: int, run_s: float) -> TaskData:
    metrics = TaskMetrics(round(1000 * run_s), ReadMetrics(records_read=rows))
    return TaskData(0, 0, executor, "SUCCESS", 0, metrics)


def tasks_of(*tasks: TaskData) -> BatchTasks:
    return BatchTasks(1, (tasks,))


def test_all_queries_are_one_operator_and_each_is_a_stream_into_it():
    meter = ApplicationMeter(
        APPLICATION, FakeQueries(FakeRun("one", batch(100, 0)), FakeRun("other", batch(10, 5))), cold_batches=0
    )
    meter.look({})
    assert meter.batches_to_sample == {"one": 1, "other": 1}
    meter.take_sample("one", tasks_of(task("7", 60, 1.2), task("8", 40, 0.8)))
    meter.take_sample("other", tasks_of(task("7", 10, 0.5)))
    meter.attribute_work({}, {"7": 1, "8": 1}, 7.5)
    latency = Latency(10, 4.0)
    assert meter.state(100.0, None) == OperatorState(
        "application", 115, 110, queued=5, busy_s=2.5, latency=latency, batch=Batch(2, 4.0, pytest.approx(2.3), 3, 0.0)
    )
    assert meter.latency_from_entry == latency
    assert meter.streams() == [
        StreamState("queries", "application", 115),
        StreamState("one", "application", 100),
        StreamState("other", "application", 10),
    ]
    assert meter.substreams([]) == []


def test_work_counts_with_the_rows_of_its_batch_and_not_before():
    run = FakeRun("one", batch(100, 0))
    meter = ApplicationMeter(APPLICATION, FakeQueries(run), cold_batches=0)
    meter.look({})
    meter.take_sample("one", tasks_of(task("7", 100, 1.0)))
    meter.attribute_work({}, {"7": 1}, 1.0)
    meter.look({})
    meter.attribute_work({}, {"7": 1}, 30.0)
    assert meter.state(100.0, None).busy_s == 1.0, "a long batch is under way"
    run._coming = [batch(300, 0)]
    meter.look({})
    meter.attribute_work({}, {"7": 1}, 1.0)
    assert meter.state(100.0, None).busy_s == 4.0, "as much for each row as in the last sample"


def test_the_batch_under_way_shows_how_far_it_is_and_what_it_has_cost():
    run = FakeRun("one", batch(100, 0), BatchRecord(2, 2.0, 4.0, {"topic": 100}, 1.5, behind=0))
    meter = ApplicationMeter(APPLICATION, FakeQueries(run), cold_batches=0)
    meter.look({})
    meter.take_sample("one", tasks_of(task("7", 50, 0.5), task("8", 50, 0.5)))
    meter.attribute_work({}, {"7": 2, "8": 2}, 1.0)
    running = TaskData(1, 1, "7", "RUNNING", 4_000), TaskData(2, 2, "new", "RUNNING", 4_000)
    done = ("7", StageShare(4_000, 2)), ("8", StageShare(2_000, 1)), ("new", StageShare(3_000, 1))
    meter.look({"one": RunningBatch(3, 4.0, 8, done, running)})
    meter.attribute_work({}, {"7": 2, "8": 2}, 1.0)
    under_way = meter.state(14.0, None).under_way
    assert under_way == BatchUnderWay(10.0, 8, 3, 1, worked_s=(6.0 + 10.0) / 2, rows=100)
    meter.look({"one": RunningBatch(2, 4.0, 8, done, running)})
    assert meter.state(14.0, None).under_way is None, "the last batch that was reported has finished"


def test_a_first_batch_that_takes_long_shows_what_it_has_cost_once_executors_are_no_longer_cold():
    """Somebody attaches to a query whose batches take minutes."""
    meter = ApplicationMeter(APPLICATION, FakeQueries(FakeRun("one")))
    running = TaskData(4, 4, "7", "RUNNING", 24_000)
    batch = RunningBatch(3, 4.0, 8, (("7", StageShare(20_000, 4)),), (running,), rows=800)
    meter.look({"one": batch})
    meter.cold_start.work(["7"], 20.0)
    assert meter.state(29.0, None).under_way is None
    meter.cold_start.work(["7"], 10.0)
    meter.look({"one": batch})
    assert meter.state(29.0, None).under_way == BatchUnderWay(25.0, 8, 4, 1, worked_s=25.0, rows=800)


def test_a_first_batch_that_has_taken_long_already_is_evidence_at_once():
    """Executors have been at work on it since long before somebody attached."""
    meter = ApplicationMeter(APPLICATION, FakeQueries(FakeRun("one")))
    meter.attribute_work({}, {"7": 2}, None)
    running = TaskData(4, 4, "7", "RUNNING", 24_000)
    meter.look({"one": RunningBatch(3, 4.0, 8, (("7", StageShare(54_000, 4)),), (running,), rows=800)})
    assert meter.state(29.0, None).under_way is None, "for 29.5 s, by two slots"
    meter.look({"one": RunningBatch(3, 4.0, 8, (("7", StageShare(55_000, 4)),), (running,), rows=800)})
    assert meter.state(29.0, None).under_way == BatchUnderWay(25.0, 8, 4, 1, worked_s=30.0, rows=800)


def test_a_query_that_was_not_sampled_does_not_hide_what_the_others_cost():
    queries = FakeQueries(FakeRun("one", batch(100, 0)), FakeRun("rare", batch(10, 0)))
    meter = ApplicationMeter(APPLICATION, queries, cold_batches=0)
    meter.look({})
    meter.attribute_work({}, {"7": 1}, 1.0)
    assert meter.state(100.0, None).busy_s is None, "nothing was sampled"
    meter.take_sample("one", tasks_of(task("7", 100, 1.0)))
    meter.attribute_work({}, {"7": 1}, 1.0)
    assert meter.state(100.0, None).busy_s == 1.0
    queries.end("rare")
    meter.look({})
    meter.attribute_work({}, {"7": 1}, 1.0)
    assert meter.state(100.0, None).busy_s == 1.0


def test_a_query_that_has_had_nothing_to_do_since_it_was_attached_does_not_hide_the_others():
    idle = FakeRun("idle")
    idle.earlier = (batch(10, 0),) * 3
    meter = ApplicationMeter(APPLICATION, FakeQueries(FakeRun("one", batch(100, 0)), idle), cold_batches=0)
    meter.look({})
    for run_id in meter.batches_to_sample:
        meter.take_sample(run_id, tasks_of(task("7", 100, 1.0)))
    meter.attribute_work({}, {"7": 1}, 1.0)
    state = meter.state(100.0, None)
    assert (state.busy_s, state.batch) == (1.0, Batch(1, 2.0, pytest.approx(1.0), 1, 0.0))


@pytest.mark.parametrize(("counts", "width"), [([5] * 5, 3), ([5] * 4, None), ([5, 5, 5, 5, 2, 5], None)])
def test_executors_with_more_slots_than_a_source_has_partitions_have_no_use(counts, width):
    run = FakeRun("one")
    run.trigger_s = 10.0
    meter = ApplicationMeter(APPLICATION, FakeQueries(run), cold_batches=0)
    for count in counts:
        run._coming = [batch(100, 0)]
        meter.look({})
        meter.take_sample("one", tasks_of(*[task("7", 20, 0.2)] * count))
        meter.attribute_work({}, {"7": 2}, 1.0)
    state = meter.state(100.0, None)
    assert (state.width, state.trigger_s) == (width, 10.0)


def test_which_executor_did_what_is_unknown():
    meter = ApplicationMeter(APPLICATION, FakeQueries(FakeRun("one", batch(100, 0))), cold_batches=0)
    meter.look({})
    assert (meter.rows_by_executor(), meter.queued_by_executor()) == ({}, None)
    assert meter.expected_work("7") == (0.0, 0.0)
    assert "the rows of single executors are unknown" in meter.problems()[-1]


def test_counters_continue_after_a_restart_of_the_driver():
    before = OperatorState("application", 130, 100, queued=30, busy_s=60.0, batch=Batch(4, 8.0, 2.0, 9, 1.5))
    streams = (StreamState("queries", "application", 130), StreamState("one", "application", 100))
    meter = ApplicationMeter(
        APPLICATION,
        FakeQueries(FakeRun("one", batch(10, 25))),
        Snapshot(1.0, (before,), streams=streams),
        cold_batches=0,
    )
    meter.look({})
    meter.take_sample("one", tasks_of(task("7", 10, 1.5)))
    meter.attribute_work({}, {"7": 1}, 1.5)
    state = meter.state(100.0, None)
    assert (state.arrived, state.completed, state.queued, state.busy_s) == (135, 110, 25, 61.5)
    assert state.batch == Batch(5, 10.0, 2.5, 10, 1.5)
    assert [stream.rows for stream in meter.streams()] == [135, 110]


def test_batches_from_before_it_was_attached_have_warmed_up_an_application():
    fresh, old = FakeRun("fresh"), FakeRun("old")
    old.earlier = (batch(10, 0),) * 3
    for run, is_cold in ((fresh, True), (old, False)):
        meter = ApplicationMeter(APPLICATION, FakeQueries(run))
        meter.look({})
        assert meter.cold_start.is_cold is is_cold
        assert any("warming up" in problem for problem in meter.problems()) is is_cold


def test_while_it_is_cold_its_busy_time_and_the_cost_of_its_batches_are_unknown():
    meter = ApplicationMeter(APPLICATION, FakeQueries(FakeRun("one", batch(100, 0))))
    meter.look({})
    meter.attribute_work({}, {}, None)
    state = meter.state(100.0, None)
    assert (state.completed, state.busy_s, state.batch) == (100, None, Batch(1, 2.0))
