"""One operator's figures, from batches and streams that a test makes up."""

from types import SimpleNamespace

import msgspec
import pytest

from rheostat.snapshot import Batch, Latency, OperatorState, Snapshot, StreamState, SubstreamState
from rheostat.spark.observe.operator_meter import OperatorMeter
from rheostat.spark.observe.status_store import ReadMetrics, TaskFigures, TaskMetrics
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.streams.stream import Arrival
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "words",
    [
        Source("lines"),
        Operator("split", inputs="lines"),
        Operator("count", inputs="split", key="word", substreams=2),
    ],
)


class FakeRuntime:
    """Holds what the real one would find; one query for each group of operators."""

    topology = TOPOLOGY

    def __init__(self, *groups: tuple[str, ...]) -> None:
        self.streams: dict[str, tuple[Arrival, ...] | None] = {"split": ()}
        self.timed: Timings | None = None
        self.arrange(*groups or (("split",), ("count",)))

    def arrange(self, *groups: tuple[str, ...]) -> None:
        """Have other queries, as after a fusion; those before keep what they have had until now."""
        self.records: list[BatchRecord] = []
        self.queries = {"+".join(group): _query(group, self.records) for group in groups}

    def waiting(self, operator: str) -> dict[str, tuple[Arrival, ...] | None]:
        return self.streams

    def timings(self, operator: str) -> Timings | None:
        return self.timed


def _query(group: tuple[str, ...], records: list[BatchRecord]) -> SimpleNamespace:
    operators = [TOPOLOGY.operators[name] for name in group if name in TOPOLOGY.operators]
    readers = {} if group[0] in TOPOLOGY.sources else {"stream": None}
    progress = SimpleNamespace(lastProgress=lambda: None)
    query = SimpleNamespace(runId=f"run of {group[0]}", _jsq=progress)
    batches = SimpleNamespace(after=lambda batch: tuple(each for each in records if each.batch > batch))
    unit = SimpleNamespace(operators=operators, keyed=any(operator.keyed for operator in operators))
    return SimpleNamespace(unit=unit, readers=readers, query=query, batches=batches)


def record(batch: int, start_s: float, rows: int, latency_s: float = 2.0) -> BatchRecord:
    latency = Latency(rows, latency_s)
    return BatchRecord(batch, start_s, start_s, start_s, start_s + 1.0, {"split": rows}, latency, latency)


def arrival(position: int, published_s: float, rows: int) -> Arrival:
    return Arrival(position, published_s, rows, 10 * rows, None)


def task(partition: int, executor: str, rows: int) -> TaskFigures:
    metrics = TaskMetrics(250, 0, ReadMetrics(), ReadMetrics(records_read=rows))
    return TaskFigures(partition, partition, executor, "SUCCESS", 0, metrics)


def read(meter: OperatorMeter, now_s: float = 100.0, sample: BatchTasks | None = None) -> OperatorState:
    meter.look()
    if sample is not None:
        meter.take(sample)
    meter.book({"7": 0, "8": 1}, {"7": 1, "8": 1})
    return meter.state(now_s, "round-robin")


def test_rows_are_counted_once_though_the_stream_hears_of_a_commit_later():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 60)]
    runtime.streams = {"split": (arrival(0, 9.0, 60), arrival(1, 10.5, 40))}
    state = read(meter, now_s=12.0)
    assert (state.arrived, state.completed, state.queued, state.lost) == (100, 60, 40, 0)
    assert state.oldest_s == 1.5
    runtime.streams = {"split": (arrival(1, 10.5, 40),)}
    assert read(meter).arrived == 100


def test_rows_of_a_batch_that_no_record_has_yet_are_still_queued():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.streams = {"split": (arrival(0, 9.0, 60),)}
    assert read(meter).arrived == 60
    runtime.streams = {"split": ()}
    state = read(meter)
    assert (state.arrived, state.completed, state.queued) == (60, 0, 60)
    runtime.records[:] = [record(0, 10.0, 60)]
    assert read(meter).queued == 0


def test_latencies_are_those_since_the_last_reading():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 10, latency_s=1.0), record(1, 11.0, 30, latency_s=3.0)]
    assert read(meter).latency == Latency(40, 2.5)
    assert read(meter).latency is None
    assert meter.entry_latency is None


def test_a_stream_that_is_not_open_yet_makes_arrivals_unknown_and_says_so():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.streams = {"split": None}
    state = read(meter)
    assert (state.arrived, state.queued, state.oldest_s, meter.stream("split")) == (None, None, None, (None, None))
    assert meter.problems() == ["what waits for operator 'count' is not known yet"]


def test_rows_are_split_as_in_the_sampled_batch_those_before_it_included():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 100)]
    read(meter)
    assert meter.portion(0) is None
    assert meter.substreams([0, 1])[0] == SubstreamState("count", 0, 0)
    runtime.records.append(record(1, 11.0, 40))
    runtime.streams = {"split": (arrival(5, 12.0, 8),)}
    read(meter, sample=BatchTasks(1, ((task(0, "7", 30), task(1, "8", 10)),)))
    assert [state.completed for state in meter.substreams([0, 1])] == [105, 35]
    assert [state.queued for state in meter.substreams([0, 1])] == [6, 2]
    assert [state.executor for state in meter.substreams([1])] == [1, None]
    assert meter.portion(1) == (37, 35, 2)


def test_costs_of_batches_follow_from_the_sample_and_their_rows():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 100), record(1, 11.0, 40)]
    state = read(meter, sample=BatchTasks(1, ((task(0, "7", 30), task(1, "8", 10)),)))
    assert state.batch == Batch(2, 2.0, pytest.approx(2.0 - 0.25 * 140 / 40), 4)
    assert state.busy_s == pytest.approx(0.5 * 140 / 40)
    assert read(meter).busy_s == state.busy_s


def test_a_batch_that_has_grown_is_work_for_a_larger_share_of_its_time():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    held = msgspec.structs.replace(task(0, "7", 40), duration=1000)
    runtime.records[:] = [record(0, 10.0, 40)]
    read(meter, sample=BatchTasks(0, ((held,),)))
    assert meter.worked_s("7") == pytest.approx((0.25, 1.0))
    runtime.streams = {"split": (arrival(1, 10.5, 100), arrival(2, 10.9, 60), arrival(3, 11.5, 500))}
    read(meter)
    assert meter.worked_s("7") == meter.worked_s("newcomer") == pytest.approx((1.0, 1.75))
    runtime.streams = {"split": (arrival(3, 11.5, 80), arrival(4, 11.9, 500))}
    read(meter)
    assert meter.worked_s("7") == pytest.approx((0.5, 1.25))


def test_a_batch_without_rows_does_not_tell_who_serves_them():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 40)]
    read(meter, sample=BatchTasks(0, ((task(0, "7", 30), task(1, "8", 10)),)))
    runtime.records.append(record(1, 11.0, 0))
    state = read(meter, sample=BatchTasks(1, ((task(0, "9", 0),),)))
    assert state.batch == Batch(2, 2.0, 1.75, 4)
    runtime.records.append(record(2, 12.0, 80))
    assert read(meter).busy_s == pytest.approx(1.5)


def test_without_a_sample_costs_are_unknown():
    runtime = FakeRuntime()
    runtime.records[:] = [record(0, 10.0, 100)]
    state = read(OperatorMeter(runtime, "count"))
    assert state.batch == Batch(1, 1.0, None, None)
    assert state.busy_s is None


def test_bytes_follow_the_size_of_the_rows_that_wait():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 60)]
    runtime.streams = {"split": (arrival(1, 10.5, 40),)}
    read(meter)
    assert meter.stream("split") == (100, 1000)


def test_the_spread_of_service_times_is_that_of_new_samples():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.timed = Timings(sampled=100, sampled_s=100.0, sampled_s2=150.0)
    assert read(meter).service_scv == pytest.approx(0.5)
    runtime.timed = Timings(sampled=104, sampled_s=400.0, sampled_s2=9000.0)
    assert read(meter).service_scv == pytest.approx(0.5), "four samples say nothing"
    runtime.timed = None
    assert read(meter).service_scv is None


def test_of_fused_operators_the_first_is_measured():
    runtime = FakeRuntime(("split", "count"))
    first, second = OperatorMeter(runtime, "split"), OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 60)]
    assert read(first).completed == 60
    assert read(second) == OperatorState("count")
    assert second.problems() == ["operator 'count' is fused with the ones before it: its rows do not show"]


def test_fused_operators_have_the_latency_from_entry_of_their_query():
    runtime = FakeRuntime(("split", "count"))
    meter = OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 60, latency_s=1.5)]
    read(meter)
    assert meter.entry_latency == Latency(60, 1.5)


def test_counters_go_on_when_operators_are_fused_and_split_whatever_the_numbers_of_batches():
    runtime = FakeRuntime()
    first, second = OperatorMeter(runtime, "split"), OperatorMeter(runtime, "count")
    runtime.records[:] = [record(7, 10.0, 60)]
    assert (read(first).completed, read(second).completed) == (60, 60)
    runtime.records.append(record(8, 12.0, 5))
    runtime.arrange(("split", "count"))
    runtime.records[:] = [record(3, 14.0, 40)]
    assert (read(first).completed, read(second).completed) == (60 + 5 + 40, None)
    runtime.records.append(record(4, 15.0, 1))
    runtime.arrange(("split",), ("count",))
    runtime.records[:] = [record(0, 16.0, 10)]
    assert (read(first).completed, read(second).completed) == (60 + 5 + 40 + 1 + 10, 60 + 5 + 10)


def test_useful_time_counts_on_from_where_it_was_when_an_operator_is_fused_or_split():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "split")
    batch = BatchTasks(0, ((task(0, "7", 10),),))
    runtime.records[:] = [record(0, 10.0, 10)]
    assert read(meter, sample=batch).busy_s == 0.25
    runtime.arrange(("split", "count"))
    assert read(meter).busy_s == 0.25
    runtime.records[:] = [record(0, 20.0, 30)]
    assert read(meter).busy_s == 1.0
    runtime.arrange(("split",), ("count",))
    runtime.records[:] = [record(0, 30.0, 5)]
    assert read(meter, sample=batch).busy_s == 1.25


def test_what_was_done_in_one_pool_is_not_anothers():
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count")
    runtime.records[:] = [record(0, 10.0, 20)]
    sample = BatchTasks(0, ((task(0, "7", 10), task(1, "8", 10)),))
    for pool, done in (("count", 10), ("count", 10), ("other", 0)):
        meter.look()
        meter.take(sample)
        meter.book({"7": 0, "8": 1}, {"7": 1, "8": 1}, pool)
        portion = meter.portion(0)
        assert portion is not None
        assert portion.completed == done


def test_an_operator_fused_with_its_source_has_arrivals_as_it_reads_them():
    runtime = FakeRuntime(("lines", "split"), ("count",))
    meter = OperatorMeter(runtime, "split")
    runtime.records[:], runtime.streams = [record(0, 10.0, 60)], {}
    state = read(meter)
    assert (state.arrived, state.completed, state.queued) == (60, 60, 0)
    assert meter.problems() == ["operator 'split' is fused with its source: rows read are taken for rows arrived"]


def test_counters_go_on_from_those_of_an_earlier_run_of_the_driver():
    before = OperatorState("count", arrived=500, completed=450, busy_s=30.0, batch=Batch(9, 20.0, 5.0, 18))
    base = Snapshot(
        1.0,
        (before,),
        substreams=(SubstreamState("count", 0, completed=400), SubstreamState("count", 1, completed=50)),
        streams=(StreamState("split", "count", rows=500, bytes=5000),),
    )
    runtime = FakeRuntime()
    meter = OperatorMeter(runtime, "count", base)
    runtime.streams = {"split": (arrival(9, 9.0, 50),)}
    state = read(meter)
    assert (state.arrived, state.completed, state.queued, state.batch.count) == (500, 450, 50, 9)
    assert meter.stream("split") == (500, 5000)
    runtime.records[:], runtime.streams = [record(10, 10.0, 50)], {"split": ()}
    state = read(meter, sample=BatchTasks(10, ((task(0, "7", 1), task(1, "8", 1)),)))
    assert (state.arrived, state.completed, state.batch.count) == (500, 500, 10)
    assert state.busy_s == pytest.approx(30.5)
    assert [each.completed for each in meter.substreams([0, 1])] == [425, 75]


def test_what_was_committed_after_the_last_snapshot_is_not_queued_for_ever():
    base = Snapshot(1.0, (OperatorState("count", arrived=500, completed=450),))
    runtime = FakeRuntime()
    runtime.streams = {"split": (arrival(9, 9.0, 20),)}
    state = read(OperatorMeter(runtime, "count", base))
    assert (state.arrived, state.completed, state.queued) == (500, 480, 20)


def test_groupings_by_cost_are_for_those_who_say_which_column_decides_it():
    @per_record("word string", cost="value")
    def costly(row):
        yield row

    def told(function):
        runtime = FakeRuntime()
        runtime.topology = Topology("one", [Source("lines"), Operator("split", function, inputs="lines")])
        meter = OperatorMeter(runtime, "split")
        return read(meter).grouping, meter.groupings

    assert told(None) == ("round-robin", ("round-robin", "load-aware", "by-key:"))
    assert told(costly) == ("round-robin", ("round-robin", "load-aware", "by-key:", "osg", "batch-greedy"))


def test_substreams_leave_no_choice_of_a_grouping():
    meter = OperatorMeter(FakeRuntime(), "count")
    assert (read(meter).grouping, meter.groupings) == ("key", ())
