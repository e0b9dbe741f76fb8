from rheostat.snapshot import Snapshot, SubstreamState
from rheostat.spark.observe.operators.substream_meter import SubstreamMeter
from rheostat.spark.observe.status_store import ReadMetrics, TaskData, TaskMetrics
from rheostat.spark.observe.task_samples import BatchTasks


def sampled(*rows: int) -> BatchTasks:
    """One task for each substream."""
    tasks = [
        TaskData(index, index, "7", "SUCCESS", 0, TaskMetrics(1, shuffle_read_metrics=ReadMetrics(each)))
        for index, each in enumerate(rows)
    ]
    return BatchTasks(0, (tuple(tasks),))


def test_rows_are_unknown_before_a_sample():
    meter = SubstreamMeter("count", 2)
    assert meter.states([3, None], 10) == [SubstreamState("count", 0, 3), SubstreamState("count", 1, None)]


def test_rows_are_divided_as_in_the_sample():
    meter = SubstreamMeter("count", 2)
    meter.add(140, sampled(30, 10))
    assert meter.states([0], 8) == [
        SubstreamState("count", 0, 0, 111, 105, 6),
        SubstreamState("count", 1, None, 37, 35, 2),
    ]
    assert meter.states([0, 0], None)[0] == SubstreamState("count", 0, 0)


def test_rows_that_wait_are_divided_as_in_the_last_few_batches():
    meter = SubstreamMeter("count", 2)
    for _ in range(20):
        meter.add(100, sampled(50, 50))
    meter.add(10, sampled(10, 0))
    assert [state.completed for state in meter.states([], 0)] == [1010, 1000]
    assert meter.states([], 100)[0].queued == 51
    for _ in range(20):
        meter.add(100, sampled(100, 0))
    assert meter.states([], 100)[0].queued == 100


def test_a_sample_that_does_not_show_substreams_leaves_the_shares_as_they_were():
    meter = SubstreamMeter("count", 2)
    meter.add(40, sampled(30, 10))
    meter.add(40, sampled(1, 1, 1))
    assert [state.completed for state in meter.states([], 0)] == [60, 20]


def test_state_is_divided_evenly():
    meter = SubstreamMeter("count", 2)
    meter.state_bytes = 500
    assert [state.state_bytes for state in meter.states([], None)] == [250, 250]


def test_an_operator_without_a_key_has_no_substreams():
    meter = SubstreamMeter("split", 0)
    meter.add(40, sampled(30, 10))
    assert meter.states([], 5) == []


def test_counters_continue_after_a_restart():
    before = (SubstreamState("count", 0, arrived=420, completed=400), SubstreamState("count", 1, completed=50))
    meter = SubstreamMeter("count", 2, Snapshot(1.0, (), substreams=before))
    meter.add(8, sampled(1, 1))
    assert [state.completed for state in meter.states([], 0)] == [404, 54]
    assert [state.arrived for state in meter.states([], 0)] == [420, 54]
