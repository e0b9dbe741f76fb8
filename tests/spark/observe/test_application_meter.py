from rheostat.snapshot import Batch, Latency, OperatorState, Snapshot, StreamState
from rheostat.spark.observe.application_meter import ApplicationMeter
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.topology import Operator, Source, Topology

APPLICATION = Topology("app", [Source("queries"), Operator("application", inputs="queries")])


class FakeRun:
    trigger_s = 0.0
    earlier: tuple[BatchRecord, ...] = ()

    def __init__(self, name: str, *batches: BatchRecord) -> None:
        self.id = self.run_id = self.name = name
        self._coming = list(batches)

    def is_processing(self) -> bool:
        return False

    def new_batches(self) -> list[BatchRecord]:
        coming, self._coming = self._coming, []
        return coming


class FakeQueries:
    def __init__(self, *runs: FakeRun) -> None:
        self.running = {run.run_id: run for run in runs}

    def update(self) -> list[FakeRun]:
        return []


def batch(rows: int, behind: int) -> BatchRecord:
    return BatchRecord(1, 0.0, 2.0, {"topic": rows}, 1.5, behind=behind)


def test_all_queries_are_one_operator_and_each_is_a_stream_into_it():
    meter = ApplicationMeter(
        APPLICATION, FakeQueries(FakeRun("one", batch(100, 0)), FakeRun("other", batch(10, 5))), cold_batches=0
    )
    meter.look()
    meter.attribute_work({}, {}, 7.5)
    latency = Latency(10, 4.0)
    assert meter.state(100.0, None) == OperatorState(
        "application", 115, 110, queued=5, busy_s=7.5, latency=latency, batch=Batch(2, 4.0, 1.0)
    )
    assert meter.latency_from_entry == latency
    assert meter.streams() == [
        StreamState("queries", "application", 115),
        StreamState("one", "application", 100),
        StreamState("other", "application", 10),
    ]
    assert meter.substreams([]) == []


def test_which_executor_did_what_is_unknown():
    meter = ApplicationMeter(APPLICATION, FakeQueries(FakeRun("one", batch(100, 0))), cold_batches=0)
    meter.look()
    assert (meter.rows_by_executor(), meter.queued_by_executor(), meter.batch_to_sample) == ({}, None, None)
    assert meter.expected_work("7") == (0.0, 0.0)
    assert "the rows of single executors are unknown" in meter.problems()[-1]


def test_counters_continue_after_a_restart_of_the_driver():
    before = OperatorState("application", 130, 100, queued=30, busy_s=60.0, batch=Batch(4, 8.0, 2.0))
    streams = (StreamState("queries", "application", 130), StreamState("one", "application", 100))
    meter = ApplicationMeter(
        APPLICATION,
        FakeQueries(FakeRun("one", batch(10, 25))),
        Snapshot(1.0, (before,), streams=streams),
        cold_batches=0,
    )
    meter.look()
    meter.attribute_work({}, {}, 1.5)
    state = meter.state(100.0, None)
    assert (state.arrived, state.completed, state.queued, state.busy_s) == (135, 110, 25, 61.5)
    assert state.batch == Batch(5, 10.0, 2.5)
    assert [stream.rows for stream in meter.streams()] == [135, 110]


def test_batches_from_before_it_was_attached_have_warmed_up_an_application():
    fresh, old = FakeRun("fresh"), FakeRun("old")
    old.earlier = (batch(10, 0),) * 3
    for run, is_cold in ((fresh, True), (old, False)):
        meter = ApplicationMeter(APPLICATION, FakeQueries(run))
        meter.look()
        assert meter.cold_start.is_cold is is_cold
        assert any("warming up" in problem for problem in meter.problems()) is is_cold


def test_while_it_is_cold_its_busy_time_and_the_cost_of_its_batches_are_unknown():
    meter = ApplicationMeter(APPLICATION, FakeQueries(FakeRun("one", batch(100, 0))))
    meter.look()
    meter.attribute_work({}, {}, None)
    state = meter.state(100.0, None)
    assert (state.completed, state.busy_s, state.batch) == (100, None, Batch(1, 2.0))
