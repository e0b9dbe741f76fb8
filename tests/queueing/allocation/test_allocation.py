"""AssignProcessors and MinProcessors against all allocations there are."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigError, InfeasibleError
from rheostat.queueing import (
    GIGk,
    MicroBatch,
    MixedSpeeds,
    Network,
    SplitMM1,
    Station,
    assign_processors,
    min_processors,
    mm1,
    mmk,
)
from rheostat.queueing.allocation.convolution import ConvolutionOrder
from rheostat.queueing.allocation.greedy import greedy_order
from rheostat.queueing.allocation.ranking import RankedOrder

RATES = st.floats(0.05, 6.0)
SERVICES = st.floats(0.8, 4.0)
SCVS = st.sampled_from([0.0, 0.3, 1.0, 2.5])
COSTS = st.sampled_from([0.02, 0.1, 0.5])
FALLING = st.one_of(
    st.builds(mmk, RATES | st.just(0.0), SERVICES),
    st.builds(GIGk, RATES, SERVICES, SCVS, SCVS),
    st.builds(SplitMM1, RATES, SERVICES, st.sampled_from([0.0, 0.2, 0.5])),
    st.builds(MicroBatch, RATES, SERVICES, COSTS, st.just(0.0) | COSTS, st.none() | st.integers(8, 12)),
)
SPEEDS = st.lists(st.sampled_from([0.2, 0.5, 1.0, 2.0]), min_size=1, max_size=6).map(tuple)
MIXED = st.builds(MixedSpeeds, FALLING, SPEEDS)


@st.composite
def stations(draw, models, size):
    model = draw(models)
    least = draw(st.sampled_from([1, 1, 1, 2, 4]))
    most = draw(st.sampled_from([math.inf, math.inf, 6, 12]))
    assume(model.fewest() <= min(most, 50))
    return Station(f"o{size}", model, least, most)


def networks(models, most_stations=4):
    sized = st.integers(1, most_stations).flatmap(lambda n: st.tuples(*(stations(models, i) for i in range(n))))
    return st.builds(Network, sized, st.floats(0.5, 5.0))


def fewest(network):
    return sum(station.bounds()[0] for station in network.stations)


def all_allocations(network, k_max):
    """Every allocation of at most `k_max` executors that keeps to the bounds: its total and its E[T]."""
    total, tuples = np.zeros(1, dtype=int), np.zeros(1)
    for station in network.stations:
        lowest = station.bounds()[0]
        counts = np.arange(lowest, min(station.most, lowest + k_max - fewest(network)) + 1, dtype=int)
        held = [rate and rate * station.model.sojourn_s(k) for rate in [station.model.arrival_rate] for k in counts]
        total = np.add.outer(total, counts).ravel()
        tuples = np.add.outer(tuples, held).ravel()
    return total[total <= k_max], tuples[total <= k_max] / network.external_rate


def assert_within_bounds(allocation, k_max):
    assert allocation.total() <= k_max
    for station, executors in zip(allocation.network.stations, allocation.executors, strict=True):
        assert max(station.least, station.model.fewest()) <= executors <= station.most


def assert_optimal(network, k_max):
    allocation = assign_processors(network, k_max)
    assert_within_bounds(allocation, k_max)
    _, latencies_s = all_allocations(network, k_max)
    assert allocation.expected_latency_s() == pytest.approx(latencies_s.min(), rel=1e-9)


def assert_fewest(network, t_max_s, k_max):
    totals, latencies_s = all_allocations(network, k_max)
    assume(np.abs(latencies_s - t_max_s).min() > 1e-12 * t_max_s)
    meeting = totals[latencies_s <= t_max_s]
    if not meeting.size:
        with pytest.raises(InfeasibleError):
            min_processors(network, t_max_s, k_max)
    else:
        allocation = min_processors(network, t_max_s, k_max)
        assert_within_bounds(allocation, k_max)
        assert allocation.expected_latency_s() <= t_max_s
        assert allocation.total() == meeting.min()


@settings(max_examples=1500)
@given(networks(FALLING), st.integers(0, 7))
def test_no_other_allocation_has_a_lower_expected_latency(network, spare):
    assert_optimal(network, fewest(network) + spare)


@settings(max_examples=700)
@given(networks(FALLING | MIXED, 3), st.integers(0, 7))
def test_no_other_allocation_is_better_with_executors_of_different_speeds(network, spare):
    assert_optimal(network, fewest(network) + spare)


@settings(max_examples=700)
@given(networks(FALLING, 3), st.integers(0, 7), st.floats(0.9, 1.1))
def test_no_smaller_allocation_meets_the_latency(network, spare, slack):
    k_max = fewest(network) + 7
    target_s = assign_processors(network, fewest(network) + spare).expected_latency_s() * slack
    assert_fewest(network, target_s, k_max)


@settings(max_examples=300)
@given(networks(FALLING | MIXED, 3), st.integers(0, 7), st.floats(0.9, 1.1))
def test_no_smaller_allocation_meets_the_latency_with_executors_of_different_speeds(network, spare, slack):
    k_max = fewest(network) + 7
    target_s = assign_processors(network, fewest(network) + spare).expected_latency_s() * slack
    assert_fewest(network, target_s, k_max)


@settings(max_examples=300)
@given(networks(FALLING, 8), st.integers(0, 60))
def test_many_operators_at_once_and_one_executor_at_a_time_give_the_same_order(network, spare):
    bounded = network.bounded_models()
    one_by_one, at_once = greedy_order(bounded, spare), RankedOrder(bounded, spare)
    assert [at_once.take(s) for s in range(spare + 1)] == [one_by_one.take(s) for s in range(spare + 1)]
    assert at_once.changes[:spare].tolist() == one_by_one.changes


def test_hundreds_of_unequal_operators_share_thousands_of_executors_as_one_by_one():
    makers = (mmk, mm1, lambda rate, mu: GIGk(rate, mu, 2.0, 0.5), lambda rate, mu: MicroBatch(rate, mu, 0.3, 0.001))
    unequal = tuple(Station(f"o{i}", makers[i % 4](500.0 / (i + 1), 1.1)) for i in range(300))
    bounded = Network(unequal, 1.0).bounded_models()
    one_by_one, at_once = greedy_order(bounded, 5_000), RankedOrder(bounded, 5_000)
    for spare in (0, 1, 299, 300, 2_500, 5_000):
        assert at_once.take(spare) == one_by_one.take(spare)


@settings(max_examples=200)
@given(networks(FALLING, 5), st.integers(0, 20))
def test_the_way_for_models_of_any_shape_agrees_where_gains_fall(network, spare):
    by_gain = greedy_order(network.bounded_models(), spare).take(spare)
    any_shape = ConvolutionOrder(network.bounded_models(), spare).take(spare)
    assert network.expected_latency_s(any_shape) == pytest.approx(network.expected_latency_s(by_gain), rel=1e-9)


@given(networks(FALLING), st.integers(0, 40))
def test_more_executors_never_make_it_slower(network, spare):
    latencies = [assign_processors(network, fewest(network) + s).expected_latency_s() for s in (spare, spare + 1)]
    assert latencies[1] <= latencies[0] * (1 + 1e-12)


class TestAssignProcessors:
    def test_queues_use_up_every_executor(self):
        network = Network.of(13.0, extract=mmk(13, 1.5), match=mmk(13, 1.4), aggregate=mmk(13, 40))
        assert assign_processors(network, 22).total() == 22

    def test_a_light_load_uses_up_every_executor_though_gains_are_too_small_for_a_double(self):
        network = Network.of(1.0, a=mmk(0.1, 10), b=mmk(0.1, 10), c=mmk(0.1, 10))
        assert assign_processors(network, 1_001).executors == (334, 334, 333)

    def test_what_is_left_of_a_light_load_keeps_to_the_bounds(self):
        bounded = tuple(Station(name, mmk(0.1, 10), most=200) for name in "ab")
        network = Network((*bounded, Station("c", mmk(0.1, 10))), 1.0)
        assert assign_processors(network, 1_000).executors == (200, 200, 600)

    def test_operators_that_never_wait_stay_at_the_fewest(self):
        network = Network.of(1.0, idle=mmk(0, 1), clockwork=GIGk(5, 2, 0, 0), busy=mmk(1, 2))
        assert assign_processors(network, 20).executors == (1, 3, 16)

    def test_idle_operators_leave_executors_unused(self):
        assert assign_processors(Network.of(1.0, a=mmk(0, 1), b=mmk(0, 1)), 10).total() == 2

    def test_micro_batches_stop_where_another_task_does_harm(self):
        batch = MicroBatch(400, 200, fixed_s=0.05, per_task_s=0.045)
        network = Network.of(400.0, count=batch)
        assert assign_processors(network, 50).executors == (batch.best(),) == (5,)
        assert network.expected_latency_s([50]) > 2 * network.expected_latency_s([5])

    def test_of_equal_operators_the_one_declared_first_gets_the_odd_executor(self):
        network = Network.of(1.0, a=mmk(5, 2), b=mmk(5, 2), c=mmk(5, 2))
        assert assign_processors(network, 13).executors == (5, 4, 4)
        assert assign_processors(network, 14).executors == (5, 5, 4)

    def test_of_many_equal_operators_the_ones_declared_first_get_the_odd_executors(self):
        same = tuple(Station(f"o{i}", mmk(5, 2)) for i in range(100))
        assert assign_processors(Network(same, 1.0), 437).executors == (5,) * 37 + (4,) * 63

    def test_bounds_hold_even_where_they_cost_latency(self):
        network = Network((Station("a", mmk(5, 2), most=3), Station("b", mmk(1, 9), least=4)), 5.0)
        assert assign_processors(network, 12).executors == (3, 9)

    def test_a_lower_bound_above_the_best_number_is_kept(self):
        network = Network((Station("a", MicroBatch(400, 200, 0.05, 0.045), least=9),), 400.0)
        assert assign_processors(network, 20).executors == (9,)

    def test_gi_g_k_chooses_otherwise_than_m_m_k_where_the_second_operator_sees_bursts(self):
        plain = Network.of(5.0, extract=mmk(5, 4.4), match=mmk(5, 3.1), aggregate=mmk(5, 50))
        bursty = Network.of(5.0, extract=GIGk(5, 4.4, 0.1, 0.6), match=GIGk(5, 3.1, 6.0, 2.0), aggregate=GIGk(5, 50))
        assert assign_processors(plain, 7).executors == (3, 3, 1)
        assert assign_processors(bursty, 7).executors == (2, 4, 1)

    def test_too_few_executors_are_refused_with_the_number_needed(self):
        network = Network.of(10.0, extract=mmk(10, 3), match=mmk(10, 4), aggregate=mmk(10, 40))
        with pytest.raises(InfeasibleError, match=r"7 executors .* at least 8 .*extract 4, match 3, aggregate 1"):
            assign_processors(network, 7)
        assert assign_processors(network, 8).executors == (4, 3, 1)

    def test_a_long_list_of_needs_is_cut_short(self):
        many = Network(tuple(Station(f"o{i}", mmk(1, 2)) for i in range(30)), 1.0)
        with pytest.raises(InfeasibleError, match=r"at least 30 .* …"):
            assign_processors(many, 3)

    def test_taking_the_largest_gain_first_would_miss_the_optimum_of_mixed_executors(self):
        slow_second = MixedSpeeds(mmk(0.3, 1.0), (1.0, 0.05, 4.0))
        network = Network.of(1.0, a=slow_second, b=mmk(1.5, 1.0))
        assert slow_second.sojourn_s(2) > slow_second.sojourn_s(1)
        assert assign_processors(network, 6).executors == (3, 3)
        assert network.expected_latency_s((3, 3)) < network.expected_latency_s((1, 5))


class TestMinProcessors:
    NETWORK = Network.of(10.0, extract=mmk(10, 3), match=mmk(10, 4), aggregate=mmk(10, 40))

    def test_a_latency_that_is_met_exactly_is_met(self):
        for k_max in range(8, 40):
            latency_s = assign_processors(self.NETWORK, k_max).expected_latency_s()
            assert min_processors(self.NETWORK, latency_s).total() == k_max

    def test_the_next_smaller_number_takes_one_executor_more(self):
        latency_s = assign_processors(self.NETWORK, 11).expected_latency_s()
        assert min_processors(self.NETWORK, math.nextafter(latency_s, 0.0)).total() == 12

    def test_a_generous_latency_needs_no_more_than_keeps_up(self):
        assert min_processors(self.NETWORK, 1e9).executors == (4, 3, 1)
        assert min_processors(self.NETWORK, math.inf).executors == (4, 3, 1)

    def test_the_floor_itself_is_never_met_by_queues_and_the_error_tells_it(self):
        floor_s = 1 / 3 + 1 / 4 + 1 / 40
        with pytest.raises(InfeasibleError, match=r"no number of executors .* stays above 0\.608333 s"):
            min_processors(self.NETWORK, floor_s)
        assert min_processors(self.NETWORK, floor_s * 1.0001).total() > 12

    def test_the_floor_of_micro_batches_is_met(self):
        batch = MicroBatch(400, 200, 0.05, 0.045)
        network = Network.of(400.0, count=batch)
        assert min_processors(network, batch.sojourn_s(5)).executors == (5,)
        with pytest.raises(InfeasibleError, match=r"least possible is 0\.6875 s"):
            min_processors(network, math.nextafter(batch.sojourn_s(5), 0.0))

    def test_a_budget_too_small_for_the_latency_tells_the_latency_it_allows(self):
        within = assign_processors(self.NETWORK, 10).expected_latency_s()
        with pytest.raises(InfeasibleError, match=f"10 executors reach .* of {within:.6g} s, not 0.62 s"):
            min_processors(self.NETWORK, 0.62, k_max=10)

    def test_a_budget_too_small_to_keep_up_tells_the_number_needed(self):
        with pytest.raises(InfeasibleError, match="at least 8 are needed"):
            min_processors(self.NETWORK, 5.0, k_max=7)

    def test_a_latency_just_above_the_floor_ends_the_search_instead_of_the_memory(self):
        with pytest.raises(InfeasibleError, match="1000003 executors reach an expected latency"):
            min_processors(Network.of(10.0, a=mm1(10, 5)), 0.2 * (1 + 1e-9))

    def test_a_latency_that_is_no_number_is_refused(self):
        with pytest.raises(ConfigError, match="T_max nan"):
            min_processors(self.NETWORK, math.nan)

    def test_a_huge_first_gain_does_not_drown_the_small_ones(self):
        # One executor short of infinity: a load of 1 − 1e-9 makes the first gain a billion tuples.
        network = Network.of(1.0, a=mmk(1 - 1e-9, 1.0), b=mmk(3.7, 1.0))
        for k_max in range(7, 20):
            latency_s = assign_processors(network, k_max).expected_latency_s()
            assert min_processors(network, latency_s).total() == k_max

    def test_many_operators_need_as_many_as_the_best_use_of_that_number_shows(self):
        stations = tuple(Station(f"o{i}", mmk(1 + i % 7, 1.3)) for i in range(60))
        network = Network(stations, 10.0)
        latency_s = assign_processors(network, 321).expected_latency_s()
        assert min_processors(network, latency_s).total() == 321
        assert min_processors(network, math.nextafter(latency_s, 0.0)).total() == 322
