"""PA-SPS's equations: shares, queued events, execution times and replicas, each by itself."""

import itertools
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.pasps.execution_times import ExecutionTimes
from rheostat.policies.pasps.input_samples import InputSamples
from rheostat.policies.pasps.replicas import ReplicaNeed, load, replicas_within_budget
from rheostat.policies.pasps.stream_shares import StreamShares
from rheostat.snapshot import OperatorState, Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

FIGURE_6 = Topology(
    "figure 6",
    [
        Source("input"),
        Operator("o1", inputs="input", outputs={"two": 0.7, "three": 0.3}),
        Operator("o2", inputs="o1.two", selectivity=0.4),
        Operator("o3", inputs="o1.three"),
        Operator("o4", inputs=["o2", "o3"]),
    ],
)
LINE = Topology("line", [Source("input"), Operator("one", inputs="input"), Operator("two", inputs="one")])
LOOP = Topology(
    "loop",
    [
        Source("input"),
        Operator("work", inputs=["input", "work.again"], outputs={"again": 0.5, "done": 1.0}),
        Operator("end", inputs="work.done"),
    ],
)


def snapshot(time_s: float, completed: dict[str, int], rows: Mapping[tuple[str, str], int | None]) -> Snapshot:
    return Snapshot(
        time_s,
        tuple(OperatorState(name, completed=count) for name, count in completed.items()),
        streams=tuple(StreamState(name, consumer, count) for (name, consumer), count in rows.items()),
    )


def observation(
    time_s: float, rate: float | None, interval_s: float = 1.0, **operators: OperatorMeasures
) -> Observation:
    measures = Measures(interval_s, operators, external_rate=rate)
    return Observation(Snapshot(time_s, ()), measures, Plan.initial(LINE))


def test_figure_4_twenty_events_a_second_need_two_one_and_four_replicas() -> None:
    assert [ReplicaNeed(load(20, et_s, 1.0)).replicas for et_s in (0.100, 0.050, 0.200)] == [2, 1, 4]


def test_figure_6_of_a_hundred_events_70_30_and_58_reach_the_others() -> None:
    events = StreamShares(FIGURE_6).events(100, {})
    assert events == pytest.approx({"o1": 100, "o2": 70, "o3": 30, "o4": 58})


def test_figure_6_from_what_went_over_the_streams() -> None:
    declared_wrongly = Topology(
        "figure 6",
        [
            Source("input"),
            Operator("o1", inputs="input", outputs={"two": 0.5, "three": 0.5}),
            Operator("o2", inputs="o1.two"),
            Operator("o3", inputs="o1.three"),
            Operator("o4", inputs=["o2", "o3"]),
        ],
    )
    shares = StreamShares(declared_wrongly)
    rows = {("input", "o1"): 0, ("o1.two", "o2"): 0, ("o1.three", "o3"): 0, ("o2", "o4"): 0, ("o3", "o4"): 0}
    shares.update(snapshot(0, {"o1": 0, "o2": 0, "o3": 0, "o4": 0}, rows))
    shares.end_interval()
    rows = {("input", "o1"): 200, ("o1.two", "o2"): 140, ("o1.three", "o3"): 60, ("o2", "o4"): 48, ("o3", "o4"): 60}
    shares.update(snapshot(30, {"o1": 200, "o2": 120, "o3": 60, "o4": 100}, rows))
    shares.end_interval()
    assert shares.events(100, {}) == pytest.approx({"o1": 100, "o2": 70, "o3": 30, "o4": 58})


def test_queued_events_fall_through_the_topology_like_dominoes_and_a_diamond_counts_none_twice() -> None:
    events = StreamShares(FIGURE_6).events(0, {"o1": 100, "o2": 10})
    assert events == pytest.approx({"o1": 100, "o2": 80, "o3": 30, "o4": 0.4 * 80 + 30})


def test_a_loop_gets_what_comes_round_again() -> None:
    assert StreamShares(LOOP).events(100, {"work": 10}) == pytest.approx({"work": 220, "end": 220})


def test_an_operator_that_processed_nothing_keeps_its_last_share() -> None:
    shares = StreamShares(LINE)
    shares.update(snapshot(0, {"one": 0, "two": 0}, {("input", "one"): 0, ("one", "two"): 0}))
    shares.end_interval()
    shares.update(snapshot(30, {"one": 100, "two": 0}, {("input", "one"): 100, ("one", "two"): 25}))
    shares.end_interval()
    shares.update(snapshot(60, {"one": 100, "two": 0}, {("input", "one"): 100, ("one", "two"): 25}))
    shares.end_interval()
    assert shares.events(100, {})["two"] == pytest.approx(25)


def test_a_counter_that_fell_leaves_its_share_as_it_was() -> None:
    shares = StreamShares(LINE)
    shares.update(snapshot(0, {"one": 100, "two": 0}, {("input", "one"): 100, ("one", "two"): 50}))
    shares.end_interval()
    shares.update(snapshot(30, {"one": 10, "two": 0}, {("input", "one"): 200, ("one", "two"): 60}))
    shares.end_interval()
    assert shares.events(100, {})["two"] == pytest.approx(100)


def test_shares_that_would_never_die_out_are_not_believed() -> None:
    shares = StreamShares(LOOP)
    rows = {("input", "work"): 0, ("work.again", "work"): 0, ("work.done", "end"): 0}
    shares.update(snapshot(0, {"work": 0}, rows))
    shares.end_interval()
    shares.update(snapshot(30, {"work": 10}, {**rows, ("work.again", "work"): 10, ("work.done", "end"): 10}))
    shares.end_interval()
    assert shares.events(100, {}) == pytest.approx({"work": 200, "end": 200})


@pytest.mark.parametrize("unread", [{}, {("one", "two"): None}])
def test_a_stream_that_could_not_be_read_keeps_its_share_and_does_not_seem_empty(
    unread: dict[tuple[str, str], None],
) -> None:
    shares = StreamShares(LINE)
    for time_s, completed, rows in ((0, 0, 0), (30, 100, 25)):
        shares.update(snapshot(time_s, {"one": completed}, {("one", "two"): rows}))
        shares.end_interval()
    shares.update(snapshot(60, {"one": 200}, unread))
    shares.end_interval()
    assert shares.events(100, {})["two"] == pytest.approx(25)
    shares.update(snapshot(90, {"one": 300}, {("one", "two"): 100}))
    shares.end_interval()
    assert shares.events(100, {})["two"] == pytest.approx(25), "75 rows came since second 30, of 200 records"
    shares.update(snapshot(120, {"one": 400}, {("one", "two"): 150}))
    shares.end_interval()
    assert shares.events(100, {})["two"] == pytest.approx(50)


TWO_SOURCES = Topology(
    "two sources",
    [
        Source("a"),
        Source("b"),
        Operator("x", inputs="a"),
        Operator("y", inputs="b"),
        Operator("z", inputs=["x", "y"]),
    ],
)


def test_several_sources_share_the_input_as_they_did_in_the_last_interval() -> None:
    shares = StreamShares(TWO_SOURCES)
    shares.update(snapshot(0, {}, {("a", "x"): 0, ("b", "y"): 0}))
    shares.end_interval()
    shares.update(snapshot(30, {}, {("a", "x"): 30, ("b", "y"): 90}))
    shares.end_interval()
    assert shares.events(100, {}) == pytest.approx({"x": 25, "y": 75, "z": 100})
    shares.update(snapshot(60, {}, {("a", "x"): 60}))
    shares.end_interval()
    assert shares.events(100, {}) == pytest.approx({"x": 25, "y": 75, "z": 100}), "what b sent is not known"


def test_samples_are_of_equal_length_whenever_measurements_come() -> None:
    samples = InputSamples(1.0, 10)
    samples.update(observation(0.0, None))
    samples.update(observation(0.5, 10))
    samples.update(observation(2.5, 20))
    assert samples.window() == pytest.approx([15, 20])
    samples.update(observation(3.0, 40))
    assert samples.window() == pytest.approx([15, 20, 30])


def test_a_measurement_covers_the_time_of_those_that_failed_before_it() -> None:
    samples = InputSamples(1.0, 10)
    for time_s, rate in ((0, None), (1, 5), (2, None), (3, None), (4, 8)):
        samples.update(observation(time_s, rate))
    assert samples.window() == pytest.approx([5, 8, 8, 8])


def test_only_the_last_samples_are_kept() -> None:
    samples = InputSamples(0.1, 3)
    samples.update(observation(0.0, None))
    for turn in range(1, 8):
        samples.update(observation(0.1 * turn, float(turn)))
    assert samples.window() == pytest.approx([5, 6, 7])


def test_execution_times_are_calibrated_first_and_measured_then() -> None:
    times = ExecutionTimes({"one": 0.5})
    assert (times.of("one"), times.of("two")) == (0.5, None)
    times.update(observation(1, 10, one=OperatorMeasures(completion_rate=10, service_rate=10)))
    times.update(observation(2, 10, one=OperatorMeasures(completion_rate=30, service_rate=5)))
    times.update(observation(3, 10, one=OperatorMeasures(completion_rate=0, service_rate=None)))
    assert times.of("one") == 0.5
    times.end_interval()
    assert times.of("one") == pytest.approx((10 * 0.1 + 30 * 0.2) / 40)
    times.end_interval()
    assert times.of("one") == pytest.approx(0.175)
    times.update(observation(4, 10, one=OperatorMeasures(completion_rate=10, service_rate=4)))
    times.end_interval()
    assert times.of("one") == pytest.approx(0.25), "what was before the last interval counts no more"


def test_replicas_are_at_least_one_and_at_most_the_pool() -> None:
    assert ReplicaNeed(0.0).replicas == 1
    assert ReplicaNeed(0.0, least=2).replicas == 2
    assert ReplicaNeed(7.3, most=5).replicas == 5
    assert ReplicaNeed(3 + 1e-12).replicas == 3
    assert ReplicaNeed(3.001).replicas == 4


LOADS = st.lists(st.floats(0.01, 6), min_size=1, max_size=4)


@given(loads=LOADS, total=st.integers(4, 12))
def test_a_short_budget_keeps_the_fullest_pool_as_little_full_as_possible(loads: list[float], total: int) -> None:
    needs = [ReplicaNeed(load) for load in loads]
    given_out = replicas_within_budget(needs, total)
    wanted = [need.replicas for need in needs]
    assert sum(given_out) == min(total, sum(wanted))

    def fullest(counts: tuple[int, ...] | list[int]) -> float:
        return max(need.load / count for need, count in zip(needs, counts, strict=True))

    possible = itertools.product(*(range(1, want + 1) for want in wanted))
    assert fullest(given_out) <= min(fullest(counts) for counts in possible if sum(counts) <= total) + 1e-12


def test_infinite_pools_have_no_bound() -> None:
    assert ReplicaNeed(1e6, most=math.inf).replicas == 1_000_000
