"""StreamSwitch's parameters, and the shares of a latency that spans several operators."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.policies.registry import make_options, make_policy
from rheostat.policies.streamswitch.latency_bounds import LatencyBounds, LatencyShares, heaviest_paths
from rheostat.policies.streamswitch.model.capacity import Capacity
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.policy import StreamSwitch
from rheostat.policies.streamswitch.settings import Timing, thresholds, timing
from rheostat.sla import SLA, Goal
from rheostat.topology import Operator, Source, Topology

CHAIN = {"split": ["count"], "count": []}
TOPOLOGY = Topology(
    "words", [Source("in"), Operator("split", inputs="in"), Operator("count", inputs="split", key="word")]
)


def options(**told):
    return make_options(StreamSwitch, told)


def test_the_defaults_are_those_of_the_paper():
    it = options()
    assert (it.epsilon, it.eta) == (0.2, 1 / 8)
    limits = thresholds(it, 1.0, Capacity(1000.0, it.epsilon))
    assert (limits.alert_s, limits.latency_s) == (0.1, 1.0)


def test_the_alert_is_no_less_than_what_an_executor_has_that_is_as_loaded_as_the_bound_allows():
    """μ = 10 and L = 1 s allow 7 records/s, on which the mean latency is 1/3 s."""
    assert thresholds(options(), 1.0, Capacity(10.0, 0.2)).alert_s == pytest.approx(1 / 3)


def test_on_a_micro_batch_engine_the_alert_is_at_least_two_batches():
    limits = thresholds(options(), 3.0, Capacity(100.0, 0.2, batch_cost_s=0.9))
    assert 2 * 0.9 <= limits.alert_s < limits.latency_s == 3.0
    tight = thresholds(options(), 1.9, Capacity(100.0, 0.2, batch_cost_s=0.9))
    assert tight.alert_s == 1.8


@given(st.floats(0.01, 100), st.floats(0.1, 1e4), st.floats(0, 0.9), st.floats(0.001, 10))
def test_the_alert_is_always_below_the_bound(latency_s, service_rate, margin, batch_s):
    assert thresholds(options(), latency_s, Capacity(service_rate, margin)).alert_s < latency_s
    if 2 * batch_s < latency_s:
        limits = thresholds(options(), latency_s, Capacity(service_rate, margin, batch_s))
        assert 2 * batch_s <= limits.alert_s < latency_s


def test_an_sla_below_two_batches_leaves_no_room():
    with pytest.raises(ConfigError, match=r"a latency bound of 1s cannot be met: a batch lasts 600ms .* \(1.2s\)"):
        thresholds(options(), 1.0, Capacity(100.0, 0.2, batch_cost_s=0.6))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"l": "300ms"}, "l '300ms' is below two batches: choose 400ms or more"),
        ({"l": "3s"}, "l '3s' must be below the latency bound of 2s"),
    ],
)
def test_an_alert_that_cannot_be_is_refused_with_what_would_be_right(told, words):
    with pytest.raises(ConfigError, match=words):
        thresholds(options(**told), 2.0, Capacity(100.0, 0.2, batch_cost_s=0.2))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"l": "2s", "L": "1s"}, "l '2s' must be below L '1s'"),
        ({"T": "1s", "delta": "300ms"}, "T '1s' must be a multiple of delta '300ms'"),
        ({"T": "1s", "delta": "2s"}, "T '1s' must be a multiple of delta '2s'"),
        ({"T": "soon"}, "T 'soon' is not a duration"),
        ({"L": {"count": 0}}, "L 0.0 must be longer than zero"),
        ({"epsilon": 1}, "epsilon"),
        ({"eta": 0}, "eta"),
    ],
)
def test_options_that_cannot_be_are_refused_at_once(told, words):
    with pytest.raises(ConfigError, match=words):
        options(**told)


def test_a_bound_for_an_operator_that_is_not_there_is_refused_with_the_one_meant():
    with pytest.raises(Exception, match="'count'"):
        make_policy("streamswitch", Goal(TOPOLOGY), {"L": {"counts": "1s"}})


def test_a_slot_is_a_period_and_a_window_a_whole_number_of_slots():
    assert timing(options(), window_s=10, period_s=1) == Timing(1, 1, 10)
    assert timing(options(), window_s=10, period_s=3) == Timing(3, 1, 4)
    assert timing(options(), window_s=1, period_s=5) == Timing(5, 1, 1)


def test_a_slot_is_no_shorter_than_a_batch():
    assert timing(options(), window_s=10, period_s=1, batch_s=1.7) == Timing(2, 2, 5)


@pytest.mark.parametrize(
    ("delta", "words"),
    [("1500ms", "delta 1.5s must be a multiple of the loop's period of 1s"), ("1s", "shorter than a batch.*1.7s")],
)
def test_a_slot_that_cannot_be_is_refused(delta, words):
    with pytest.raises(ConfigError, match=words):
        timing(options(delta=delta), window_s=10, period_s=1, batch_s=1.7)


def test_a_latency_along_a_chain_is_shared_evenly_at_first():
    assert LatencyShares(2.0, CHAIN).bounds_s({}) == {"split": 1.0, "count": 1.0}


def test_what_batches_need_is_given_first():
    assert LatencyShares(2.0, CHAIN).bounds_s({"count": 1.0}) == {"split": 0.5, "count": 1.5}


def test_a_latency_that_the_batches_use_up_leaves_no_room():
    with pytest.raises(ConfigError, match=r"an end-to-end latency of 2s cannot be met: .* more than 2.1s"):
        LatencyShares(2.0, CHAIN).bounds_s({"count": 1.0, "split": 1.1})


def success_rates(bounds_s, typical_s):
    """An operator meets its bound the more often the longer it is against what is typical of it."""
    return {name: 1 - math.exp(-bounds_s[name] / typical_s[name]) for name in bounds_s}


@given(st.floats(0.05, 2), st.floats(0.05, 2), st.floats(0.05, 2))
def test_shares_move_until_the_success_rates_are_equal(a, b, c):
    typical_s = {"a": a, "b": b, "c": c}
    shares = LatencyShares(1.0, {"a": ["b"], "b": ["c"], "c": []}, interval=1)
    for _ in range(400):
        shares.judge(success_rates(shares.bounds_s({}), typical_s))
    bounds_s = shares.bounds_s({})
    rates = success_rates(bounds_s, typical_s).values()
    assert max(rates) - min(rates) < 0.02
    assert sum(bounds_s.values()) == pytest.approx(1.0)


def test_shares_are_left_alone_while_all_succeed_alike():
    shares = LatencyShares(1.0, CHAIN, interval=2)
    for _ in range(10):
        shares.judge({"split": 1.0, "count": 1.0})
    assert shares.bounds_s({}) == {"split": 0.5, "count": 0.5}


def test_an_operator_without_anything_to_judge_keeps_its_weight():
    shares = LatencyShares(1.0, CHAIN, interval=1)
    shares.judge({"split": 0.5, "count": None})
    assert shares.bounds_s({}) == {"split": 0.5, "count": 0.5}


@st.composite
def graphs(draw):
    names = "abcdef"[: draw(st.integers(1, 6))]
    edges = {one: [other for other in names if other > one and draw(st.booleans())] for one in names}
    return edges, {name: draw(st.integers(1, 9)) for name in names}


def all_ways(edges, start):
    return [[start, *rest] for after in edges[start] for rest in all_ways(edges, after)] or [[start]]


@given(graphs())
def test_the_heaviest_way_through_an_operator_is_the_heaviest_of_all_ways(graph):
    edges, weights = graph
    ways = [way for start in edges for way in all_ways(edges, start)]
    brute = {name: max(sum(weights[step] for step in way) for way in ways if name in way) for name in edges}
    assert heaviest_paths(edges, weights) == brute


@given(graphs(), st.floats(0.5, 5))
def test_whatever_way_a_record_takes_the_bounds_along_it_add_up_to_no_more_than_the_whole(graph, latency_s):
    edges, weights = graph
    shares = LatencyShares(latency_s, edges, interval=1)
    shares.judge({name: weight / 10 for name, weight in weights.items()})
    bounds_s = shares.bounds_s({name: 0.01 * weight for name, weight in weights.items()})
    for start in edges:
        for way in all_ways(edges, start):
            assert sum(bounds_s[step] for step in way) <= latency_s * (1 + 1e-9)


def test_the_operators_of_a_loop_are_one_step():
    edges = {"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": []}
    assert heaviest_paths(edges, dict.fromkeys(edges, 1.0)) == dict.fromkeys(edges, 4.0)


def bounds(*slas, **told):
    it = LatencyBounds(Goal(TOPOLOGY, slas), options(**told))
    it.split({})
    return it


def test_an_end_to_end_sla_and_one_of_a_path_are_shared_out():
    for sla in (SLA("2s", "5s"), SLA("2s", "5s", path=["split", "count"])):
        it = bounds(sla)
        assert (it.latency_s("split"), it.latency_s("count"), it.window_s("count")) == (1.0, 1.0, 5.0)


def test_the_tightest_of_several_slas_counts():
    it = bounds(SLA("2s", "10s"), SLA("300ms", "5s", operator="count"))
    assert (it.latency_s("split"), it.latency_s("count")) == (1.0, 0.3)
    assert (it.window_s("split"), it.window_s("count")) == (10.0, 5.0)


def test_a_told_bound_comes_first():
    it = bounds(SLA("2s", "10s"), L={"split": "1250ms", "count": "750ms"}, T="1s")
    assert (it.latency_s("split"), it.latency_s("count"), it.window_s("count")) == (1.25, 0.75, 1.0)


def test_without_any_sla_there_is_no_bound():
    assert bounds().latency_s("count") is None


def test_an_sla_of_another_operator_says_nothing():
    assert bounds(SLA("1s", operator="count")).latency_s("split") is None


def test_options_are_the_policys_own():
    assert StreamSwitch.Options is StreamSwitchOptions
