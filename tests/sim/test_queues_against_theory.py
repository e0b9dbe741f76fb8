"""One operator against the formulas of queueing theory, which stand here in full.

Times are in units of the mean service time.
"""

import math

import pytest
from intervals import batch_means, interval, late_share, latency, lost_share, squared_latency, waiting
from plants import exponential, one_operator, plant
from scipy.optimize import brentq

from rheostat.sim.model import ClusterModel, OperatorModel, Service


def queue(model, rate, **more):
    return plant(one_operator(), model, rate=rate, resolution_s=1000.0, **more)


def probabilities(rate, servers, places):
    """Of 0, 1, ... `places` in an M/M/k system, from its balance equations."""
    weights = [1.0]
    for there in range(1, places + 1):
        weights.append(weights[-1] * rate / min(there, servers))
    return [weight / sum(weights) for weight in weights]


def mean_waiting_of_mmk(servers, rate):
    """By Little's law from the probabilities, cut off where nothing is left of them."""
    places = servers + int(40 / -math.log(rate / servers))
    waiting_there = [max(0, there - servers) * p for there, p in enumerate(probabilities(rate, servers, places))]
    return sum(waiting_there) / rate


def test_the_formulas_of_this_test_agree_where_both_apply():
    assert mean_waiting_of_mmk(1, 0.8) == pytest.approx(0.8 / 0.2)
    assert mean_waiting_of_mmk(2, 1.0) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("load", "customers", "narrow"), [(0.5, 1e6, 0.02), (0.8, 4e6, 0.03)])
def test_m_m_1_has_the_latency_of_theory_and_its_spread(load, customers, narrow):
    it = queue(exponential(1.0), load)
    found = batch_means(it, {"mean": latency(), "squares": squared_latency()}, customers / 30 / load)
    assert 1 / (1 - load) in found["mean"]
    assert found["mean"].relative < narrow
    assert 2 / (1 - load) ** 2 in found["squares"]


@pytest.mark.slow
def test_m_m_1_has_the_latency_of_theory_close_to_saturation():
    it = queue(exponential(1.0), 0.95)
    found = batch_means(it, {"mean": latency()}, 2e7 / 30 / 0.95)["mean"]
    assert 20.0 in found
    assert found.relative < 0.05


def test_intervals_shrink_with_the_root_of_the_length_of_the_run():
    widths = []
    for customers in (1e5, 16e5):
        found = batch_means(queue(exponential(1.0), 0.7), {"mean": latency()}, customers / 30 / 0.7)["mean"]
        assert 1 / 0.3 in found
        widths.append(found.half_width)
    assert 2 < widths[0] / widths[1] < 8


@pytest.mark.parametrize(
    ("servers", "load", "customers"),
    [
        (2, 0.8, 2e6),
        (4, 0.8, 2e6),
        pytest.param(10, 0.9, 4e6, marks=pytest.mark.slow),
        pytest.param(25, 0.95, 1e7, marks=pytest.mark.slow),
        (50, 0.9, 3e6),
        pytest.param(50, 0.95, 2e7, marks=pytest.mark.slow),
    ],
)
def test_m_m_k_waits_as_theory_says(servers, load, customers):
    rate = servers * load
    it = queue(exponential(1.0, executors=servers, queues="shared"), rate)
    found = batch_means(it, {"waiting": waiting(), "latency": latency()}, customers / 30 / rate)
    exact = mean_waiting_of_mmk(servers, rate)
    assert exact in found["waiting"]
    assert 1 + exact in found["latency"]
    assert found["waiting"].relative < 0.15
    assert found["latency"].relative < 0.04


@pytest.mark.parametrize(
    ("service", "scv"),
    [
        (Service(mean=1.0, distribution="fixed"), 0.0),
        (Service(mean=1.0, distribution="lognormal", scv=2.0), 2.0),
        (Service(mean=1.0, distribution="uniform", spread=1.0), 1 / 3),
        (Service(mean=1.0, distribution="uniform", spread=0.3), 0.03),
    ],
)
def test_m_g_1_waits_as_pollaczek_and_khinchine_say(service, scv):
    load = 0.7
    it = queue(OperatorModel(service=service), load)
    found = batch_means(it, {"waiting": waiting()}, 2e6 / 30 / load)["waiting"]
    assert load * (1 + scv) / 2 / (1 - load) in found
    assert found.relative < 0.06


@pytest.mark.parametrize("scv", [0.0, 0.25, 4.0])
def test_gi_m_1_waits_as_theory_says(scv):
    """σ solves σ = A*(1 − σ), with A* the transform of the gaps (gamma ones); the latency is 1/(1 − σ)."""
    load = 0.7

    def transform(s):
        return math.exp(-s / load) if scv == 0 else (1 + s * scv / load) ** (-1 / scv)

    sigma = brentq(lambda x: transform(1 - x) - x, 0, 1 - 1e-9)
    it = queue(exponential(1.0), load, scv=scv)
    found = batch_means(it, {"latency": latency()}, 2e6 / 30 / load)["latency"]
    assert 1 / (1 - sigma) in found
    assert found.relative < 0.05


@pytest.mark.parametrize(
    ("servers", "rate", "capacity", "queues"), [(1, 0.9, 4, "own"), (1, 2.0, 1, "own"), (3, 2.7, 2, "shared")]
)
def test_a_bounded_queue_loses_the_share_that_theory_says(servers, rate, capacity, queues):
    it = queue(exponential(1.0, executors=servers, queues=queues, capacity=capacity), rate)
    found = batch_means(it, {"lost": lost_share(), "latency": latency()}, 5e5 / 30 / rate)
    chances = probabilities(rate, servers, servers + capacity)
    there = sum(count * chance for count, chance in enumerate(chances))
    assert chances[-1] in found["lost"]
    assert there / rate / (1 - chances[-1]) in found["latency"]
    assert found["lost"].relative < 0.05


def test_the_share_of_late_records_is_that_of_theory():
    load, timeout_s = 0.6, 6.0
    it = queue(exponential(1.0), load, cluster=ClusterModel(timeout=timeout_s))
    found = batch_means(it, {"late": late_share}, 2e6 / 30 / load)["late"]
    assert math.exp(-(1 - load) * timeout_s) in found
    assert found.relative < 0.05


def test_executors_of_their_own_queues_fed_in_turn_are_queues_with_erlang_gaps():
    """Every k-th of a Poisson stream: gaps are gamma of shape k, so each executor is an E_k/M/1 queue."""
    servers, load = 4, 0.7
    sigma = brentq(lambda x: (1 + (1 - x) / servers / load) ** -servers - x, 0, 1 - 1e-9)
    it = queue(exponential(1.0, executors=servers), servers * load)
    found = batch_means(it, {"latency": latency()}, 1e6 / 30 / servers / load)["latency"]
    assert 1 / (1 - sigma) in found
    assert found.relative < 0.03


def test_executors_fed_at_random_are_each_an_m_m_1_queue():
    it = queue(exponential(1.0, executors=4, grouping="random"), 4 * 0.7)
    found = batch_means(it, {"latency": latency()}, 1e6 / 30 / 2.8)["latency"]
    assert 1 / 0.3 in found
    assert found.relative < 0.04


def test_independent_runs_agree_with_theory_as_well_as_one_long_run():
    """Replications over seeds, each from an empty system with a warm-up cut off."""
    means = []
    for seed in range(25):
        it = queue(exponential(1.0), 0.5, seed=seed)
        it.cluster.advance(1000.0)
        before = latency()(it)
        it.cluster.advance(31000.0)
        after = latency()(it)
        means.append((after[0] - before[0]) / (after[1] - before[1]))
    found = interval(means)
    assert 2.0 in found
    assert found.relative < 0.03
