"""DRS's parts, each alone: demands, routes, corrections."""

import math

import numpy as np
import pytest
from drs_observations import chain
from hypothesis import given
from hypothesis import strategies as st

from rheostat.policies.drs.correction import Correction, Ratio, Regression, correction_named
from rheostat.policies.drs.demand import Demand
from rheostat.policies.drs.network_variants import servable_share, with_margin, with_share
from rheostat.policies.drs.pacing import periods_smoothed
from rheostat.policies.drs.problems import ScaleInDelay, why_not_affordable, why_not_worth_it
from rheostat.policies.routes import Routes
from rheostat.queueing import ExecutorAllocation, MicroBatch, Network, Station, mmk
from rheostat.snapshot import OperatorState, Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

# --- several operators in one pool


@given(st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=2, max_size=5))
def test_together_operators_bring_the_work_and_the_latency_that_they_bring_apart(rates):
    demand = Demand.together([Demand(arrival_rate=a, service_rate=m) for a, m in rates])
    work = math.fsum(a / m for a, m in rates)
    assert demand.arrival_rate / demand.service_rate == pytest.approx(work)
    queue = demand.queue(variation=False)
    executors = int(work) + 2
    waiting_s = queue.sojourn_s(executors) - 1 / demand.service_rate
    apart = math.fsum(a * (waiting_s + 1 / m) for a, m in rates)
    assert demand.arrival_rate * queue.sojourn_s(executors) == pytest.approx(apart)


def test_service_times_of_different_operators_vary_as_a_mixture():
    a = Demand(arrival_rate=30, service_rate=10, arrival_scv=1.0, service_scv=1.0)
    b = Demand(arrival_rate=10, service_rate=2, arrival_scv=3.0, service_scv=0.0)
    rng = np.random.default_rng(0)
    times_s = np.concatenate([rng.exponential(0.1, 300_000), np.full(100_000, 0.5)])
    together = Demand.together([a, b])
    assert together.service_rate == pytest.approx(1 / 0.2)
    assert together.service_scv == pytest.approx(times_s.var() / times_s.mean() ** 2, rel=0.01)
    assert together.arrival_scv == pytest.approx(1.5)


def test_variation_that_is_not_known_of_all_is_not_known():
    known = Demand(arrival_rate=1, service_rate=2, arrival_scv=1.0, service_scv=5.0)
    together = Demand.together([known, Demand(arrival_rate=1, service_rate=2)])
    assert together.queue(variation=True) == mmk(2, 2)


# --- where records go


def seen(time_s, completed, rows):
    operators = tuple(OperatorState(name, completed=n) for name, n in completed.items())
    streams = tuple(StreamState(name, consumer, rows=n) for (name, consumer), n in rows.items())
    return Snapshot(time_s, operators, streams=streams)


def test_arrivals_follow_from_the_sources_and_what_streams_carried_on():
    topology = Topology(
        "diamond",
        [
            Source("x"),
            Source("y"),
            Operator("a", inputs=["x", "y"], outputs={"left": 1, "right": 1}),
            Operator("b", inputs="a.left"),
            Operator("c", inputs=["a.right", "b"]),
        ],
    )
    routes = Routes(topology)
    edges = [("x", "a"), ("y", "a"), ("a.left", "b"), ("a.right", "c"), ("b", "c")]
    routes.update(seen(0, {"a": 0, "b": 0, "c": 0}, dict.fromkeys(edges, 0)))
    grown = dict(zip(edges, (300, 100, 600, 200, 60), strict=True))
    routes.update(seen(1, {"a": 400, "b": 600, "c": 260}, grown))
    assert routes.arrival_rates(80.0) == pytest.approx({"a": 80.0, "b": 120.0, "c": 40.0 + 12.0})


def test_behind_a_bottleneck_the_load_is_what_would_come_without_it():
    topology = chain("a", "b")
    routes = Routes(topology)
    routes.update(seen(0, {"a": 0, "b": 0}, {("in", "a"): 0, ("a", "b"): 0}))
    routes.update(seen(1, {"a": 100, "b": 500}, {("in", "a"): 400, ("a", "b"): 500}))
    assert routes.arrival_rates(400.0) == pytest.approx({"a": 400.0, "b": 2000.0})


def test_a_loop_is_solved_and_one_that_seems_to_grow_for_ever_says_nothing():
    topology = Topology("loop", [Source("in"), Operator("a", inputs=["in", "a"], selectivity=0.5)])
    routes = Routes(topology)
    assert routes.arrival_rates(10.0) == pytest.approx({"a": 20.0})
    routes.update(seen(0, {"a": 0}, {("in", "a"): 0, ("a", "a"): 0}))
    routes.update(seen(1, {"a": 10}, {("in", "a"): 10, ("a", "a"): 12}))
    assert routes.arrival_rates(10.0) is None


def test_several_sources_without_rows_cannot_be_told_apart():
    topology = Topology("two", [Source("x"), Source("y"), Operator("a", inputs="x"), Operator("b", inputs=["y", "a"])])
    assert Routes(topology).arrival_rates(10.0) is None


# --- from estimate to prediction


def test_the_ratio_is_measured_over_estimated_and_1_where_one_of_them_says_nothing():
    ratio = Ratio()
    assert ratio.update(3.0, 6.0) == Correction(0.5)
    assert ratio.update(None, 6.0) == ratio.update(3.0, math.inf) == ratio.update(3.0, 0.0) == Correction()


def test_a_regression_finds_the_line_and_keeps_it_when_the_estimate_becomes_infinite():
    regression = Regression()
    assert regression.update(2.0, 4.0) == Correction(0.5)
    regression = Regression()
    for estimate_s in (1.0, 2.0, 3.0):
        regression.update(0.3 + 0.25 * estimate_s, estimate_s)
    line = regression.update(9.0, math.inf)
    assert (line.slope, line.offset_s) == (pytest.approx(0.25), pytest.approx(0.3))
    assert line.estimate_s(line.predicted_s(1.7)) == pytest.approx(1.7)


def test_a_regression_that_falls_is_not_believed():
    regression = Regression()
    for estimate_s in (1.0, 2.0, 3.0):
        line = regression.update(10 - estimate_s, estimate_s)
    assert line == Correction(7.0 / 3.0)


def test_without_correction_the_estimate_stands():
    assert correction_named("none").update(3.0, 6.0) == Correction()


# --- the rest


def test_a_gain_in_latency_is_weighed_against_the_records_that_a_stop_holds_up():
    assert why_not_worth_it(2.0, 1.5, 1.0, 6.0) is None
    assert why_not_worth_it(2.0, 1.5, 1.0, 5.0) == "500ms less for 5s do not outweigh a stop of 1s"
    assert why_not_worth_it(math.inf, 1.5, 100.0, 1.0) is None
    assert why_not_worth_it(2.0, 1.999, 0.0, 1.0) is None


def test_with_the_stop_that_it_costs_a_removal_must_keep_t_max():
    assert why_not_affordable(0.5, 1.4, 1.5, 1.0, 10.0) is None
    assert why_not_affordable(0.5, 1.4, 1.5, 1.0, 9.9) == "with a stop of 1s it would be 1.5s for the next 9.9s"
    assert why_not_affordable(0.5, 1.5, 1.5, 0.0, 1.0) is None


def test_margins_and_shares_change_every_operator_alike():
    network = Network((Station("a", mmk(100, 10), 2, 30), Station("b", MicroBatch(50, 10, 0.2, 0.1))), 100.0)
    assert with_share(network, 1) is with_margin(network, 0) is network
    assert [s.model for s in with_margin(network, 0.25).stations] == [mmk(100, 7.5), MicroBatch(50, 7.5, 0.2, 0.1)]
    assert [s.model for s in with_share(network, 0.5).stations] == [mmk(50, 10), MicroBatch(25, 10, 0.2, 0.1)]
    assert with_share(network, 0.5).stations[0].most == 30


def test_the_bearable_share_is_that_of_the_tightest_bound():
    network = Network((Station("a", mmk(100, 10), most=5), Station("b", mmk(100, 10))), 100.0)
    assert servable_share(network) == pytest.approx(0.5, abs=1e-5)
    assert servable_share(network, 4) == pytest.approx(0.2, abs=1e-5)
    assert servable_share(Network.of(1.0, a=mmk(1, 10)), 1) == 1.0


@pytest.mark.parametrize(("smoothing", "periods"), [("none", 1), ("window:6", 6), ("alpha:0.8", 5), ("alpha:0", 1)])
def test_how_far_smoothed_measures_reach_back(smoothing, periods):
    assert periods_smoothed(smoothing) == periods


def test_in_a_line_a_result_visits_each_operator_once_however_many_records_a_record_becomes():
    topology = Topology(
        "line", [Source("in"), Operator("split", inputs="in", selectivity=5), Operator("count", inputs="split")]
    )
    visits = Routes(topology).visits({"split": 10.0, "count": 50.0})
    assert visits == pytest.approx({"split": 1.0, "count": 1.0})


def test_a_result_visits_a_branch_as_often_as_the_branch_has_part_in_the_results():
    topology = Topology(
        "fork",
        [
            Source("in"),
            Operator("head", inputs="in"),
            Operator("left", inputs="head"),
            Operator("right", inputs="head", selectivity=0.5),
            Operator("end", inputs=["left", "right"]),
        ],
    )
    # Of 15 records at the end 10 came through the left branch and 5 through the right one.
    visits = Routes(topology).visits({"head": 10.0, "left": 10.0, "right": 10.0, "end": 15.0})
    assert visits == pytest.approx({"head": 1.0, "left": 2 / 3, "right": 1 / 3, "end": 1.0})


def test_a_result_visits_a_loop_as_often_as_it_went_round():
    topology = Topology(
        "loop",
        [
            Source("in"),
            Operator("again", inputs=["in", "again.back"], outputs={"back": 0.5, "out": 0.5}),
            Operator("end", inputs="again.out"),
        ],
    )
    visits = Routes(topology).visits({"again": 20.0, "end": 10.0})
    assert visits == pytest.approx({"again": 2.0, "end": 1.0})


# --- the delay before executors are removed


def test_an_operator_that_had_no_load_for_a_while_is_no_reason_to_fail():
    a, b = Station("a", mmk(100, 50)), Station("b", mmk(100, 50))
    delay = ScaleInDelay(10.0)
    assert delay.needed(ExecutorAllocation(Network((a, b), 100.0), (5, 4)), 0.0) is None
    assert delay.needed(ExecutorAllocation(Network((b,), 100.0), (6,)), 5.0) is None
    most = delay.needed(ExecutorAllocation(Network((a, b), 100.0), (3, 3)), 10.0)
    assert most is not None
    assert most.by_name() == {"a": 5, "b": 6}
