"""One operator's measurements, from batches and streams that a test makes up."""

import json

import pytest

from rheostat.snapshot import Batch, Latency, OperatorState, Snapshot, StreamState, SubstreamState
from rheostat.spark.observe.operators.operator_meter import OperatorMeter, operator_meters
from rheostat.spark.observe.running_batches import RunningBatch
from rheostat.spark.observe.status_store import ReadMetrics, TaskData, TaskMetrics
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.streams.stream import Arrival
from rheostat.topology import Operator, Source, Topology

RUN = "27eb23d3-acda-4960-884d-2a191e071a86"


def record(batch: int, start_s: float, rows: int, latency_s: float = 2.0) -> BatchRecord:
    latency = Latency(rows, latency_s)
    return BatchRecord(batch, start_s, start_s + 1.0, {"split": rows}, 0.8, latency, latency)


def arrival(position: int, published_s: float, rows: int) -> Arrival:
    return Arrival(position, published_s, rows, 10 * rows, None)


def task(partition: int, executor: str, rows: int) -> TaskData:
    metrics = TaskMetrics(250, ReadMetrics(), ReadMetrics(records_read=rows))
    return TaskData(partition, partition, executor, "SUCCESS", 0, metrics)


def read(meter: OperatorMeter, now_s: float = 100.0, sample: BatchTasks | None = None) -> OperatorState:
    meter.look({})
    if sample is not None:
        meter.take_sample(RUN, sample)
    meter.attribute_work({"7": 0, "8": 1}, {"7": 1, "8": 1}, 0.0)
    return meter.state(now_s, "round-robin")


def test_there_is_a_meter_for_each_operator(runtime):
    assert [meter.name for meter in operator_meters(runtime)] == ["split", "count"]


def test_rows_are_counted_once_though_the_stream_hears_of_a_commit_later(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 60)]
    runtime.streams = {"split": (arrival(0, 9.0, 60), arrival(1, 10.5, 40))}
    state = read(meter, now_s=12.0)
    assert (state.arrived, state.completed, state.queued, state.lost) == (100, 60, 40, 0)
    assert state.oldest_s == 1.5
    runtime.streams = {"split": (arrival(1, 10.5, 40),)}
    assert read(meter).arrived == 100


def test_latencies_are_those_since_the_last_reading(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 10, latency_s=1.0), record(1, 11.0, 30, latency_s=3.0)]
    assert read(meter).latency == Latency(40, 2.5)
    assert read(meter).latency is None
    assert meter.latency_from_entry is None


def test_a_stream_that_is_not_open_yet_makes_arrivals_unknown_and_says_so(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.streams = {"split": None}
    state = read(meter)
    assert (state.arrived, state.queued, state.oldest_s) == (None, None, None)
    assert meter.streams() == [StreamState("split", "count")]
    assert meter.problems()[0] == "the backlog of operator 'count' is unknown: its query is still starting"


def test_before_its_query_has_started_nothing_is_known(runtime):
    runtime.queries = {}
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    assert read(meter) == OperatorState("count")
    assert meter.batches_to_sample == {}
    assert meter.problems() == ["operator 'count' is not measured yet: its query has not started"]


def test_the_error_of_a_failed_query_is_told(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.failure = ValueError("operator 'split' failed: no such word")
    read(meter)
    assert meter.problems()[0] == "operator 'split' failed: no such word"


def test_rows_are_divided_as_in_the_sampled_batch_those_before_it_included(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 100)]
    read(meter)
    assert (meter.rows_by_executor(), meter.queued_by_executor()) == ({}, None)
    assert meter.substreams([0, 1])[0] == SubstreamState("count", 0, 0)
    assert meter.problems() == ["the work of operator 'count' is unknown: none of its batches has been sampled yet"]
    runtime.records.append(record(1, 11.0, 40))
    runtime.streams = {"split": (arrival(5, 12.0, 8),)}
    read(meter, sample=BatchTasks(1, ((task(0, "7", 30), task(1, "8", 10)),)))
    assert [state.completed for state in meter.substreams([0, 1])] == [105, 35]
    assert [state.queued for state in meter.substreams([0, 1])] == [6, 2]
    assert [state.executor for state in meter.substreams([1])] == [1, None]
    assert meter.rows_by_executor() == {0: 105, 1: 35}
    assert meter.queued_by_executor() == {0: 6, 1: 2}
    read(meter)
    assert meter.rows_by_executor() == {0: 0, 1: 0}, "rows since the last reading"
    assert meter.problems() == []


def test_rows_of_the_batch_under_way_are_those_that_waited_at_the_commit_before_it_if_that_is_known(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 60)]
    runtime.streams = {"split": (arrival(1, 10.5, 40), arrival(2, 10.9, 10), arrival(3, 11.5, 7))}
    read(meter, sample=BatchTasks(0, ((task(0, "7", 60),),)))

    def rows(number):
        meter.look({"run of count": RunningBatch(number, 11.1, 1, (), ())})
        return meter.state(12.0, "round-robin").under_way.rows

    assert rows(1) == 50
    assert rows(2) is None, "the commit of batch 1 was not seen yet"


def test_rows_done_by_executors_of_another_pool_are_not_its_pools(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 20)]
    meter.look({})
    meter.take_sample(RUN, BatchTasks(0, ((task(0, "7", 10), task(1, "elsewhere", 10)),)))
    meter.attribute_work({"7": 4}, {"7": 1}, 0.0)
    assert meter.rows_by_executor() == {4: 10}


def test_costs_of_batches_follow_from_the_sample_and_their_rows(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 100), record(1, 11.0, 40)]
    state = read(meter, sample=BatchTasks(1, ((task(0, "7", 30), task(1, "8", 10)),)))
    assert state.batch == Batch(2, 2.0, pytest.approx(2.0 - 0.25 * 140 / 40), 4, 0.0)
    assert state.busy_s == pytest.approx(0.5 * 140 / 40)
    assert read(meter).busy_s == state.busy_s


def test_a_batch_without_rows_does_not_show_which_executors_process_them(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 40)]
    read(meter, sample=BatchTasks(0, ((task(0, "7", 30), task(1, "8", 10)),)))
    runtime.records.append(record(1, 11.0, 0))
    state = read(meter, sample=BatchTasks(1, ((task(0, "9", 0),),)))
    assert state.batch == Batch(2, 2.0, 1.75, 4, 0.0)
    runtime.records.append(record(2, 12.0, 80))
    assert read(meter).busy_s == pytest.approx(1.5)


def test_without_a_sample_costs_are_unknown(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 100)]
    state = read(meter)
    assert state.batch == Batch(1, 1.0, None, None)
    assert state.busy_s is None
    assert meter.expected_work("7") == (0.0, 0.0)


def test_the_work_expected_grows_with_the_batch_under_way(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 40)]
    read(meter, sample=BatchTasks(0, ((task(0, "7", 40),),)))
    assert meter.expected_work("7") == pytest.approx((0.25, 0.25))
    runtime.streams = {"split": (arrival(1, 10.5, 100), arrival(2, 10.9, 60), arrival(3, 11.5, 500))}
    read(meter)
    assert meter.expected_work("7") == pytest.approx((1.0, 1.0))


def test_the_size_of_the_state_is_that_of_the_last_report(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    durations = {"addBatch": 1, "triggerExecution": 2}
    report = {"timestamp": "2026-11-15T09:00:00.250Z", "batchId": 0, "durationMs": durations}
    runtime.progress = json.dumps({**report, "stateOperators": [{"memoryUsedBytes": 500}]})
    runtime.records[:] = [record(0, 10.0, 40)]
    read(meter, sample=BatchTasks(0, ((task(0, "7", 30), task(1, "8", 10)),)))
    assert [state.state_bytes for state in meter.substreams([0, 1])] == [250, 250]
    assert meter.problems() == ["Spark reports the state of operator 'count' as a whole: substreams get even shares"]


def test_the_variability_of_service_times_is_that_of_the_runtimes_samples(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.timed = Timings(sampled=100, sampled_s=100.0, sampled_s2=150.0)
    assert read(meter).service_scv == pytest.approx(0.5)
    runtime.timed = None
    assert read(meter).service_scv is None


def test_of_fused_operators_the_first_is_measured(runtime_of):
    runtime = runtime_of(("split", "count"))
    first, second = OperatorMeter(runtime, "split", cold_batches=0), OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 60)]
    assert read(first).completed == 60
    assert read(second) == OperatorState("count")
    assert (first.is_measured, second.is_measured) == (True, False)
    assert second.problems() == ["operator 'count' is fused with the one before it: its rows are not measured"]


def test_fused_operators_have_the_latency_from_entry_of_their_query(runtime_of):
    runtime = runtime_of(("split", "count"))
    first, last = OperatorMeter(runtime, "split", cold_batches=0), OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 60, latency_s=1.5)]
    read(first)
    read(last)
    assert last.latency_from_entry == Latency(60, 1.5)
    assert first.latency_from_entry is None, "nothing leaves the topology there"


def test_counters_continue_when_operators_are_fused_and_split(runtime):
    first, second = OperatorMeter(runtime, "split", cold_batches=0), OperatorMeter(runtime, "count", cold_batches=0)
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


def test_busy_time_continues_when_an_operator_is_fused_or_split(runtime):
    meter = OperatorMeter(runtime, "split", cold_batches=0)
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


def test_an_operator_fused_with_its_source_has_arrivals_as_it_reads_them(runtime_of):
    runtime = runtime_of(("lines", "split"), ("count",))
    meter = OperatorMeter(runtime, "split", cold_batches=0)
    runtime.records[:], runtime.streams = [record(0, 10.0, 60)], {}
    state = read(meter)
    assert (state.arrived, state.completed, state.queued) == (60, 60, 0)
    assert meter.problems()[0] == "operator 'split' is fused with its source: rows count as arrived when read"


def test_counters_continue_after_a_restart_of_the_driver(runtime):
    before = OperatorState("count", arrived=500, completed=450, busy_s=30.0, batch=Batch(9, 20.0, 5.0, 18))
    base = Snapshot(
        1.0,
        (before,),
        substreams=(SubstreamState("count", 0, completed=400), SubstreamState("count", 1, completed=50)),
        streams=(StreamState("split", "count", rows=500, bytes=5000),),
    )
    meter = OperatorMeter(runtime, "count", base, cold_batches=0)
    runtime.streams = {"split": (arrival(9, 9.0, 50),)}
    state = read(meter)
    assert (state.arrived, state.completed, state.queued, state.batch.count) == (500, 450, 50, 9)
    assert meter.streams() == [StreamState("split", "count", 500, 5000)]
    runtime.records[:], runtime.streams = [record(10, 10.0, 50)], {"split": ()}
    state = read(meter, sample=BatchTasks(10, ((task(0, "7", 1), task(1, "8", 1)),)))
    assert (state.arrived, state.completed, state.batch.count) == (500, 500, 10)
    assert state.busy_s == pytest.approx(30.5)
    assert [each.completed for each in meter.substreams([0, 1])] == [425, 75]


def test_groupings_by_cost_are_offered_where_a_column_decides_the_cost(runtime_of):
    @per_record("word string", cost="value")
    def costly(row):
        yield row

    def offered(function):
        runtime = runtime_of()
        runtime.topology = Topology("one", [Source("lines"), Operator("split", function, inputs="lines")])
        meter = OperatorMeter(runtime, "split", cold_batches=0)
        state = read(meter)
        assert meter.state(100.0, None).grouping == "round-robin", "the usual one"
        return state.grouping, meter.groupings

    assert offered(None) == ("round-robin", ("round-robin", "load-aware", "whole-files", "by-key:"))
    assert offered(costly) == (
        "round-robin",
        ("round-robin", "load-aware", "whole-files", "by-key:", "osg", "batch-greedy"),
    )


def test_substreams_leave_no_choice_of_a_grouping(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    assert (read(meter).grouping, meter.groupings) == ("key", ())


def test_the_first_batches_show_how_rows_are_divided_but_not_what_they_cost(runtime):
    meter = OperatorMeter(runtime, "count")
    tasks = (task(0, "7", 3), task(1, "8", 1))
    for number in range(3):
        runtime.records.append(record(number, 10.0 + number, 4))
        state = read(meter, sample=BatchTasks(number, (tasks,)))
        assert (state.completed, state.busy_s, state.batch.fixed_s) == (4 * number + 4, None, None)
        assert meter.rows_by_executor() == {0: 3, 1: 1}
    runtime.records.append(record(3, 13.0, 4))
    state = read(meter, sample=BatchTasks(3, (tasks,)))
    assert state.busy_s == pytest.approx(4 * 0.5), "cold batches cost what warm ones do"
    assert meter.problems() == []


def test_a_batch_with_a_new_executor_does_not_show_what_rows_cost(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=1)
    for number in range(2):
        runtime.records.append(record(number, 10.0 + number, 10))
        read(meter, sample=BatchTasks(number, ((task(0, "7", 10),),)))
    runtime.records.append(record(2, 12.0, 10))
    slow = TaskData(1, 1, "8", "SUCCESS", 0, TaskMetrics(9000, ReadMetrics(), ReadMetrics(records_read=5)))
    state = read(meter, sample=BatchTasks(2, ((task(0, "7", 5), slow),)))
    assert state.busy_s == pytest.approx(3 * 0.25)
    assert state.batch.fixed_s == pytest.approx(3 * 0.75)
    assert meter.rows_by_executor() == {0: 5, 1: 5}


def test_while_the_busy_time_of_its_pool_is_unknown_so_are_its_costs(runtime):
    meter = OperatorMeter(runtime, "count", cold_batches=0)
    runtime.records[:] = [record(0, 10.0, 40)]
    batch = BatchTasks(0, ((task(0, "7", 40),),))
    assert read(meter, sample=batch).busy_s == 0.25
    runtime.records.append(record(1, 11.0, 40))
    meter.look({})
    meter.attribute_work({"7": 0}, {"7": 1}, None)
    assert meter.state(100.0, None).busy_s is None
    assert read(meter).busy_s == 0.5
