"""Where DRS's Algorithms 1 and 2 fail as they are printed."""

import math

import pytest

from rheostat.errors import InfeasibleError
from rheostat.queueing import MicroBatch, Network, assign_processors, min_processors, mmk


def printed_assign_processors(network, k_max):
    """Algorithm 1, line by line."""
    models = [station.model for station in network.stations]
    k = [math.floor(model.arrival_rate / model.service_rate) + 1 for model in models]
    if sum(k) > k_max:
        raise InfeasibleError("not sufficient")
    while sum(k) <= k_max:
        delta = [m.arrival_rate * (m.sojourn_s(n) - m.sojourn_s(n + 1)) for m, n in zip(models, k, strict=True)]
        k[delta.index(max(delta))] += 1
    return k


class NeverEndsError(Exception):
    pass


def printed_min_processors(network, t_max_s, patience=60):
    """Algorithm 2, line by line, but for the patience."""
    models = [station.model for station in network.stations]
    k = [math.floor(model.arrival_rate / model.service_rate) + 1 for model in models]
    if sum(1 / model.service_rate for model in models) > t_max_s:
        raise InfeasibleError("not achievable")
    total = sum(k)
    while network.expected_latency_s(k) > t_max_s:
        total += 1
        if total > patience:
            raise NeverEndsError
        k = printed_assign_processors(network, total)
    return k


CHAIN = Network.of(10.0, a=mmk(10, 3), b=mmk(10, 4))


def test_algorithm_1_as_printed_spends_one_executor_too_many():
    assert sum(printed_assign_processors(CHAIN, 12)) == 13
    assert assign_processors(CHAIN, 12).total() == 12


def test_algorithm_1_as_printed_goes_on_where_an_executor_does_harm():
    network = Network.of(400.0, count=MicroBatch(400, 200, 0.05, 0.045))
    printed = printed_assign_processors(network, 20)
    assert printed == [21]
    assert assign_processors(network, 20).executors == (5,)
    assert assign_processors(network, 20).expected_latency_s() < 0.5 * network.expected_latency_s(printed)


def test_algorithm_2_as_printed_refuses_a_filter_that_can_be_met():
    filtered = Network.of(10.0, parse=mmk(10, 20), rare=mmk(1, 0.5))
    with pytest.raises(InfeasibleError):
        printed_min_processors(filtered, 1.0)
    assert min_processors(filtered, 1.0).expected_latency_s() <= 1.0


def test_algorithm_2_as_printed_never_ends_on_a_loop_that_cannot_be_met():
    looping = Network.of(10.0, detect=mmk(50, 20))
    with pytest.raises(NeverEndsError):
        printed_min_processors(looping, 0.2)
    with pytest.raises(InfeasibleError, match=r"stays above 0\.25 s"):
        min_processors(looping, 0.2)


def test_algorithm_2_as_printed_meets_the_bound_itself_only_when_waiting_is_lost_to_rounding():
    # The bound is 1/4 + 1/4: whatever is added, some waiting is left, and no number of executors meets it.
    chain = Network.of(10.0, a=mmk(10, 4), b=mmk(10, 4))
    with pytest.raises(InfeasibleError, match=r"stays above 0\.5 s"):
        min_processors(chain, 0.5)
    met_by_rounding = printed_min_processors(chain, 0.5)
    assert chain.expected_latency_s(met_by_rounding) == 0.5


def test_algorithm_2_as_printed_gives_one_executor_too_many():
    latency_s = assign_processors(CHAIN, 8).expected_latency_s()
    assert sum(printed_min_processors(CHAIN, latency_s)) == 9
    assert min_processors(CHAIN, latency_s).total() == 8
