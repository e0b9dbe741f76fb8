"""The published numbers of the Flink operator's own tests."""

import math

import pytest

from rheostat.policies.flink.capacity import ProcessingDemand, scale_factor, scaled

ANY = 10**9


@pytest.mark.parametrize(
    ("catch_up_rate", "restart_share", "high", "low", "least", "most"),
    [
        (0, 0.0, 0.9, 0.7, 778, 1000),
        (350, 0.5, 0.9, 0.7, 1128, 1700),
        (0, 0.5, 0.9, 0.7, 778, 1350),
        (350, 0.5, 1.0, 0.0, 1050, math.inf),
        (0, 0.5, 1.0, 0.0, 700, math.inf),
        (350, 5.0, 0.9, 0.7, 1128, 4850),
        (0, 5.0, 0.9, 0.7, 778, 4500),
    ],
)
def test_the_rates_between_which_nothing_changes(catch_up_rate, restart_share, high, low, least, most):
    demand = ProcessingDemand(700, catch_up_rate)
    assert (demand.capacity(high), demand.capacity(low, restart_share)) == (least, most)


@pytest.mark.parametrize(
    ("size", "substreams", "factor", "expected"),
    [
        (1, 720, 0.0001, 1),
        (2, 720, 0.1, 1),
        (6, 720, 0.8, 5),
        (16, 128, 1.5, 32),
        (200, 720, 2, 400),
        (200, 720, 2**31 - 1, 720),
    ],
)
def test_keyed_operators_get_a_number_that_divides_their_substreams(size, substreams, factor, expected):
    assert scaled(size, factor, 1, ANY, substreams) == expected


@pytest.mark.parametrize(
    ("size", "substreams", "factor", "least", "most", "expected"),
    [
        (6, 720, 0.8, 1, 700, 5),
        (8, 720, 0.8, 8, 700, 8),
        (16, 128, 1.5, 1, ANY, 32),
        (16, 128, 1.5, 60, ANY, 64),
        (200, 720, 2, 1, 300, 300),
        (200, 720, 2**31 - 1, 1, 600, 600),
    ],
)
def test_the_bounds_hold(size, substreams, factor, least, most, expected):
    assert scaled(size, factor, least, most, substreams) == expected


@pytest.mark.parametrize(
    ("size", "rate", "true_rate", "utilisation", "max_down", "max_up", "expected"),
    [
        (10, 50, 100, 0.8, 1, ANY, 8),
        (10, 80, 100, 0.8, 1, ANY, 10),
        (10, 60, 100, 0.8, 1, ANY, 8),
        (10, 59, 100, 0.8, 1, ANY, 8),
        (2, 100, 40, 0.5, 1, ANY, 10),
        (2, 100, 100, 0.6, 1, ANY, 4),
        (10, 10, 100, 1.0, 0.5, ANY, 5),
        (10, 10, 100, 1.0, 0.6, ANY, 4),
        (10, 200, 10, 1.0, 1, 0.5, 15),
        (10, 200, 10, 1.0, 1, 0.6, 16),
        (5, 100, 50, 1.0, 1, ANY, 10),
        (10, 180, 90, 1.0, 1, ANY, 20),
        (20, 180, 100, 1.0, 1, ANY, 36),
        (20, 45, 90, 1.0, 1, ANY, 10),
    ],
)
def test_the_size_that_a_rate_needs(size, rate, true_rate, utilisation, max_down, max_up, expected):
    capacity = ProcessingDemand(rate).capacity(utilisation)
    assert scaled(size, scale_factor(capacity, true_rate, max_down, max_up), 1, ANY, 720) == expected


def test_nothing_to_process_gives_the_smallest_step():
    assert scale_factor(0.0, math.inf, 0.6, ANY) == pytest.approx(0.4)
