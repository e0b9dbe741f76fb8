import pytest

from rheostat.decision import Scale
from rheostat.measure.measurer import Measurer, substream_loads
from rheostat.measure.measures import OperatorMeasures
from rheostat.plan import Plan, PoolPlan
from rheostat.snapshot import (
    Batch,
    ExecutorPhase,
    ExecutorState,
    Latency,
    OperatorState,
    Snapshot,
    StreamState,
    SubstreamState,
)
from rheostat.topology import Operator, Source, Topology

ONE = Topology("one", [Source("in"), Operator("work", inputs="in", key="k", substreams=4)])
PLAN = Plan.initial(ONE, 2)


def executor(number, arrived=None, completed=None, busy_s=None, phase=ExecutorPhase.ACTIVE, pool="work"):
    return ExecutorState(pool, number, phase, arrived, completed, busy_s=busy_s)


def snapshot(time_s, *executors, **operator):
    extra = {key: operator.pop(key) for key in ("streams", "latency_end_to_end") if key in operator}
    return Snapshot(
        time_s,
        (OperatorState("work", **operator),),
        executors,
        streams=extra.get("streams", ()),
        latency=extra.get("latency_end_to_end"),
    )


def measured(*snapshots, smoothing="none", plan=PLAN):
    measurer = Measurer(ONE, smoothing)
    return [measurer.update(each, plan) for each in snapshots]


def work(*snapshots, **options):
    return [measures.operators["work"] for measures in measured(*snapshots, **options)]


def test_the_first_snapshot_gives_no_rates():
    [measures] = measured(snapshot(5.0, executor(0, 1, 1, 0.1), arrived=10, completed=8, queued=2, busy_s=0.1))
    assert measures.interval_s == 0.0
    assert measures.operators["work"] == OperatorMeasures(queued=2.0)
    assert measures.external_rate is None


def test_rates_are_differences_over_the_time_between_two_snapshots():
    _, second = work(
        snapshot(0.0, arrived=100, completed=90, busy_s=4.0, queued=10),
        snapshot(2.0, arrived=140, completed=120, busy_s=5.0, queued=20),
    )
    assert second == OperatorMeasures(
        arrival_rate=20.0, completion_rate=15.0, service_rate=30.0, utilisation=0.25, queued=20.0
    )


def test_the_service_rate_is_the_plain_mean_over_active_executors_not_weighted_by_records():
    _, second = work(
        snapshot(0.0, executor(0, 0, 0, 0.0), executor(1, 0, 0, 0.0), completed=0, busy_s=0.0),
        snapshot(10.0, executor(0, 80, 80, 8.0), executor(1, 8, 8, 4.0), completed=88, busy_s=12.0),
    )
    assert second.service_rate == (80 / 8 + 8 / 4) / 2
    assert second.utilisation == pytest.approx(12.0 / 20.0)


def test_with_micro_batches_the_service_rate_is_that_of_all_records_together():
    _, second = work(
        snapshot(0.0, executor(0, 0, 0, 0.0), executor(1, 0, 0, 0.0), completed=0, busy_s=0.0, batch=Batch(0, 0.0)),
        snapshot(9.0, executor(0, 80, 80, 8.0), executor(1, 8, 8, 4.0), completed=88, busy_s=12.0, batch=Batch(2, 9.0)),
    )
    assert second.service_rate == 88 / 12


def test_arrivals_are_summed_over_executors_when_the_operator_does_not_count_them():
    _, second = work(
        snapshot(0.0, executor(0, 0, 0, 0.0), executor(1, 0, 0, 0.0)),
        snapshot(10.0, executor(0, 80, 70, 8.0), executor(1, 20, 10, 4.0)),
    )
    assert (second.arrival_rate, second.completion_rate) == (10.0, 8.0)


def test_one_unknown_executor_makes_the_sum_unknown_but_not_the_others_service_rate():
    _, second = work(
        snapshot(0.0, executor(0, 0, 0, 0.0), executor(1, 0, 0, 0.0)),
        snapshot(10.0, executor(0, 80, 80, 8.0), executor(1)),
    )
    assert (second.arrival_rate, second.utilisation) == (None, None)
    assert second.service_rate == 10.0


def test_a_missing_reading_gives_none_and_is_bridged_by_the_next():
    _, second, third = work(
        snapshot(0.0, arrived=0, completed=0),
        snapshot(1.0, arrived=None, completed=5),
        snapshot(4.0, arrived=40, completed=20),
    )
    assert (second.arrival_rate, second.completion_rate) == (None, 5.0)
    assert (third.arrival_rate, third.completion_rate) == (10.0, 5.0)


def test_a_counter_that_went_backwards_gives_none_and_then_counts_from_there():
    _, second, third = work(
        snapshot(0.0, arrived=1000, completed=1000), snapshot(1.0, arrived=3, completed=3), snapshot(2.0, arrived=9)
    )
    assert (second.arrival_rate, second.completion_rate) == (None, None)
    assert third.arrival_rate == 6.0


def test_an_operator_missing_from_the_snapshot_is_unknown():
    [_, second] = work(snapshot(0.0, arrived=0), Snapshot(1.0, ()))
    assert second == OperatorMeasures()


def test_services_longer_than_a_period_are_not_taken_for_fast_ones():
    every_second = [
        snapshot(float(t), executor(0, t, t // 10, float(t)), executor(1, 0, 0, 0.0), completed=t // 10)
        for t in range(31)
    ]
    rates = [each.service_rate for each in work(*every_second)]
    assert [rate for rate in rates if rate is not None] == [0.1, 0.1, 0.1]


def test_an_executor_that_joins_counts_from_zero_and_serves_half_of_the_period():
    _, second = work(
        snapshot(0.0, executor(0, 0, 0, 0.0)),
        snapshot(10.0, executor(0, 50, 50, 5.0), executor(1, 20, 20, 4.0)),
    )
    assert second.arrival_rate == 7.0
    assert second.utilisation == pytest.approx((0.5 + 0.4) / 1.5)
    assert second.service_rate == (10 + 5) / 2


@pytest.mark.parametrize("phase", [ExecutorPhase.REQUESTED, ExecutorPhase.STARTING, ExecutorPhase.WARM])
def test_an_executor_that_does_not_serve_yet_neither_hides_the_others_nor_counts(phase):
    _, second, third = work(
        snapshot(0.0, executor(0, 0, 0, 0.0), executor(1, phase=phase)),
        snapshot(10.0, executor(0, 50, 50, 5.0), executor(1, phase=phase)),
        snapshot(20.0, executor(0, 100, 100, 10.0), executor(1, 30, 30, 3.0)),
    )
    assert (second.arrival_rate, second.utilisation, second.service_rate) == (5.0, 0.5, 10.0)
    assert third.arrival_rate == 8.0
    assert third.utilisation == pytest.approx((0.5 + 0.3) / 1.5)


def test_an_executor_that_leaves_still_completes_but_its_time_is_no_capacity():
    _, second = work(
        snapshot(0.0, executor(0, 0, 0, 0.0), executor(1, 0, 0, 0.0)),
        snapshot(10.0, executor(0, 50, 50, 5.0), executor(1, 10, 10, 9.0, ExecutorPhase.LEAVING)),
    )
    assert second.completion_rate == 6.0
    assert second.utilisation == 0.5


def test_without_executors_in_the_snapshot_the_plan_says_how_many_serve():
    three = PLAN.after(Scale(pool="work", reason="", executors=3))
    _, second = work(snapshot(0.0, busy_s=0.0), snapshot(10.0, busy_s=15.0), plan=three)
    assert second.utilisation == 0.5


def test_operators_that_share_a_pool_share_its_utilisation_and_keep_their_own_rates():
    topology = Topology("two", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a")])
    plan = Plan(0, {"both": PoolPlan.of(1)}, {"a": "both", "b": "both"})
    measurer = Measurer(topology)
    for time_s, a, b, busy_s in [(0.0, 0, 0, 0.0), (10.0, 40, 20, 6.0)]:
        measures = measurer.update(
            Snapshot(
                time_s,
                (OperatorState("a", a, a, busy_s=busy_s / 3), OperatorState("b", b, b, busy_s=busy_s * 2 / 3)),
                (executor(0, a + b, a + b, busy_s, pool="both"),),
            ),
            plan,
        ).operators
    assert measures["a"].utilisation == measures["b"].utilisation == pytest.approx(0.6)
    assert (measures["a"].arrival_rate, measures["b"].arrival_rate) == (4.0, 2.0)
    assert (measures["a"].service_rate, measures["b"].service_rate) == (20.0, 5.0)


def test_latencies_are_weighted_by_the_records_they_stand_for():
    latencies = [Latency(5, 9.0), Latency(30, 1.0), Latency(10, 3.0)]
    series = [snapshot(float(t), latency=each, latency_end_to_end=each) for t, each in enumerate(latencies)]
    assert [each.latency_s for each in work(*series)] == [None, 1.0, 3.0]
    last = measured(*series, smoothing="window:2")[-1]
    assert last.operators["work"].latency_s == last.latency_s == (30 * 1.0 + 10 * 3.0) / 40


def test_nothing_completed_is_an_unknown_latency_not_zero():
    _, second = measured(snapshot(0.0), snapshot(1.0, latency=Latency(0, 0.0), latency_end_to_end=Latency(0, 0.0)))
    assert second.operators["work"].latency_s is None
    assert second.latency_s is None


def test_smoothing_applies_to_each_quantity_and_the_raw_ones_stay_at_hand():
    measurer = Measurer(ONE, "window:2")
    for time_s, arrived in [(0.0, 0), (1.0, 10), (2.0, 40)]:
        smoothed = measurer.update(snapshot(time_s, arrived=arrived), PLAN)
    assert smoothed.operators["work"].arrival_rate == 20.0
    assert measurer.raw.operators["work"].arrival_rate == 30.0


def test_the_queue_follows_from_the_counters_when_it_is_not_given():
    known, unknown = work(snapshot(0.0, arrived=10, completed=6, lost=1), snapshot(1.0, arrived=20, completed=6))
    assert (known.queued, unknown.queued) == (3.0, None)


def test_the_external_rate_is_that_of_the_source_streams_each_counted_once():
    two = Topology("two", [Source("x"), Source("y"), Operator("a", inputs="x"), Operator("b", inputs=["x", "y"])])
    measurer = Measurer(two)
    for time_s, x, y in [(0.0, 0, 0), (10.0, 50, 20)]:
        streams = (StreamState("x", "a", x), StreamState("x", "b", x), StreamState("y", "b", y))
        measures = measurer.update(Snapshot(time_s, (), streams=streams), Plan.initial(two))
    assert measures.external_rate == 7.0


def test_records_that_a_source_reads_in_batches_count_for_the_time_in_which_they_came():
    """50 a second come; what has come by the start of a batch is counted when it ends."""
    until_s = (10.0, 11.1, 13.4, 13.4, 16.2, 17.0)
    streams = [(StreamState("in", "work", round(50 * each), until_s=each),) for each in until_s]
    turns = [snapshot(12.0 + 2 * turn, streams=each) for turn, each in enumerate(streams)]
    seen = measured(*turns)
    assert [measures.external_rate for measures in seen] == [None, *[pytest.approx(50.0)] * 5]
    assert tuple(measures.external_until_s for measures in seen) == until_s


def test_a_source_from_which_nothing_comes_any_more_has_no_rate():
    streams = [(StreamState("in", "work", rows, until_s=10.0 + rows / 50),) for rows in (0, 100, 100, 100, 100, 150)]
    streams[-1] = (StreamState("in", "work", 150, until_s=41.0),)
    turns = [snapshot(time_s, streams=each) for time_s, each in zip((10, 12, 16, 22, 24, 42), streams, strict=True)]
    seen = [measures.external_rate for measures in measured(*turns)]
    assert seen[1:5] == [pytest.approx(50.0), pytest.approx(50.0), pytest.approx(50.0), 0.0]
    assert seen[5] == pytest.approx(50 / (41 - 24))


def test_without_streams_a_reader_that_reads_nothing_else_tells_the_external_rate():
    told = measured(snapshot(0.0, arrived=0), snapshot(2.0, arrived=10))[1]
    assert (told.external_rate, told.external_until_s) == (5.0, 2.0)
    loop = Topology("loop", [Source("in"), Operator("a", inputs=["in", "a"], selectivity=0.5)])
    measurer = Measurer(loop)
    for time_s in (0.0, 1.0):
        measures = measurer.update(Snapshot(time_s, (OperatorState("a", int(time_s)),)), Plan.initial(loop))
    assert measures.external_rate is None


def test_the_same_snapshots_give_the_same_measures():
    series = [snapshot(t * 0.7, executor(0, t * 3, t * 2, t * 0.3), arrived=t * 3) for t in range(20)]
    assert measured(*series, smoothing="alpha:0.7") == measured(*series, smoothing="alpha:0.7")


def test_scvs_are_passed_on():
    [only] = work(snapshot(0.0, arrival_scv=1.5, service_scv=0.2))
    assert (only.arrival_scv, only.service_scv) == (1.5, 0.2)


def substreams(*arrived):
    states = tuple(SubstreamState("work", index, 0, count) for index, count in enumerate(arrived))
    return Snapshot(0.0, (), substreams=states[::-1])


def test_substream_loads_are_the_arrivals_between_two_snapshots_in_the_order_of_the_substreams():
    assert substream_loads(substreams(1, 2, 3), substreams(5, 2, 4)) == {"work": [4.0, 0.0, 1.0]}


@pytest.mark.parametrize("now", [(5, None, 4), (5, 1, 4)])
def test_an_operator_with_an_unknown_substream_has_no_known_loads(now):
    assert substream_loads(substreams(1, 2, 3), substreams(*now)) == {}


def test_useful_time_is_not_bridged_over_readings_in_which_it_was_unknown():
    """Executors that are cold work uncounted: a low utilisation after that would be wrong."""
    *_, fourth, fifth = work(
        snapshot(0.0, executor(0, 0, 0, 0.0), completed=0, busy_s=0.0),
        snapshot(10.0, executor(0, 50, 50, None), completed=50, busy_s=None),
        snapshot(20.0, executor(0, 100, 100, None), completed=100, busy_s=None),
        snapshot(30.0, executor(0, 150, 150, 1.0), completed=150, busy_s=1.0),
        snapshot(40.0, executor(0, 200, 200, 10.0), completed=200, busy_s=10.0),
    )
    assert (fourth.utilisation, fourth.service_rate, fourth.completion_rate) == (None, None, 5.0)
    assert (fifth.utilisation, fifth.service_rate) == (0.9, pytest.approx(50 / 9))
