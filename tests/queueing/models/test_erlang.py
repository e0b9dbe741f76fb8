"""Erlang's formulas against exact integers and against scipy's incomplete gamma function."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from rheostat.queueing.models.erlang import erlang_c, inverse_blocking, inverse_blockings, mean_waiting

EXACT_TO = 1e-12


def exact_inverse_blocking(executors, load):
    """1/B(k, p/q) as an exact fraction: the recursion in integers over the common denominator pᵏ."""
    p, q = Fraction(load).as_integer_ratio()
    numerator, power = 1, 1
    for k in range(1, executors + 1):
        power *= p
        numerator = power + numerator * k * q
    return numerator, power


def exact_erlang_c(executors, load):
    """(numerator, denominator) of C = k / ((k − a)/B + a), never reduced: reducing would take minutes."""
    numerator, power = exact_inverse_blocking(executors, load)
    p, q = Fraction(load).as_integer_ratio()
    return executors * power * q, (executors * q - p) * numerator + p * power


def relative_error(value, numerator, denominator):
    """|value/exact − 1| in integers, rounded only at the end."""
    n, d = Fraction(value).as_integer_ratio()
    difference = abs(n * denominator - numerator * d)
    shift = max(0, (numerator * d).bit_length() - 200)
    return (difference >> shift) / ((numerator * d) >> shift)


@pytest.mark.parametrize(
    ("executors", "load"),
    [
        (1, 0.5),
        (2, 1.9999999),
        (10, 0.1),
        (64, 63.9),
        (65, 64.5),
        (100, 37.7),
        (100, 99.999999),
        (1000, 1.5),
        (1000, 900.25),
        (1000, 999.9999999),
        (3000, 2950.1),
        (10_000, 5_000.3),
        (10_000, 6_900.9),
        (10_000, 9_000.7),
        (10_000, 9_900.1),
        (10_000, 9_999.99),
    ],
)
def test_erlang_c_is_exact_to_twelve_digits_up_to_ten_thousand_executors(executors, load):
    exact = exact_erlang_c(executors, load)
    value = erlang_c(executors, load)
    if exact[0] * 10**300 < exact[1]:
        assert value < 1e-290
    else:
        assert relative_error(value, *exact) < EXACT_TO


@given(st.integers(1, 300), st.floats(1e-3, 1.0, exclude_max=True))
def test_erlang_c_is_exact_for_any_load(executors, utilisation):
    load = executors * utilisation
    if load >= executors:
        return
    numerator, denominator = exact_erlang_c(executors, load)
    if numerator * 10**290 > denominator:
        assert relative_error(erlang_c(executors, load), numerator, denominator) < EXACT_TO


@given(st.integers(0, 300), st.floats(1e-3, 1e3))
def test_erlang_b_is_exact_below_and_above_saturation(executors, load):
    numerator, power = exact_inverse_blocking(executors, load)
    if power * 10**290 > numerator:
        assert relative_error(1 / inverse_blocking(executors, load), power, numerator) < EXACT_TO


@pytest.mark.parametrize(("executors", "load"), [(5, 3.0), (80, 70.0), (500, 480.0), (10_000, 9_950.0)])
def test_erlang_b_agrees_with_the_poisson_distribution(executors, load):
    log_pmf = executors * math.log(load) - load - special.gammaln(executors + 1)
    expected = math.exp(log_pmf) / special.gammaincc(executors + 1, load)
    assert 1 / inverse_blocking(executors, load) == pytest.approx(expected, rel=1e-9)


def as_printed(executors, load):
    """C by DRS eq. 2 and 3: π0 (kρ)ᵏ / (k! (1 − ρ))."""
    rho = load / executors
    tail = load**executors / (math.factorial(executors) * (1 - rho))
    return tail / (sum(load**j / math.factorial(j) for j in range(executors)) + tail)


def test_the_printed_formula_agrees_where_it_can_be_computed_and_overflows_beyond():
    assert erlang_c(10, 8.5) == pytest.approx(as_printed(10, 8.5), rel=1e-12)
    with pytest.raises(OverflowError):
        as_printed(200, 190.0)
    assert 0.0 < erlang_c(200, 190.0) < 1.0


def test_with_one_executor_the_probability_to_wait_is_the_utilisation():
    assert erlang_c(1, 0.75) == 0.75


def test_nobody_waits_without_load_and_everybody_from_saturation_on():
    assert erlang_c(3, 0.0) == 0.0
    assert mean_waiting(3, 0.0) == 0.0
    assert erlang_c(3, 3.0) == erlang_c(3, 7.0) == 1.0
    assert mean_waiting(3, 3.0) == math.inf


def test_blocking_without_executors_is_certain():
    assert inverse_blocking(0, 2.5) == 1.0


def test_beyond_the_range_of_a_double_nobody_is_blocked():
    assert inverse_blocking(2_000, 0.5) == math.inf
    assert 1 / inverse_blocking(2_000, 0.5) == erlang_c(2_000, 0.5) == 0.0


def test_the_mean_number_waiting_of_a_single_executor_is_the_textbook_one():
    assert mean_waiting(1, 0.8) == pytest.approx(0.8**2 / (1 - 0.8), rel=1e-14)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 400), st.floats(1e-3, 500.0)), min_size=1, max_size=30))
def test_many_operators_side_by_side_give_the_very_same_bits(pairs):
    executors = np.array([k for k, _ in pairs], dtype=np.int64)
    load = np.array([a for _, a in pairs])
    assert inverse_blockings(executors, load).tolist() == [inverse_blocking(k, a) for k, a in pairs]
