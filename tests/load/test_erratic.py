"""The erratic load: random, yet a pure function of seed and time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rheostat.errors import LoadError
from rheostat.load import Erratic
from rheostat.load.erratic import random_numbers

MASK = (1 << 64) - 1


def mixed(state):
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def test_the_reference_below_is_splitmix64():
    """The generator's first outputs for state 1234567, as published with it."""
    gamma = 0x9E3779B97F4A7C15
    outputs = [mixed((1234567 + n * gamma) & MASK) for n in (1, 2, 3)]
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(st.integers(), st.integers(0, MASK))
def test_random_numbers_equal_plain_integer_arithmetic(seed, counter):
    state = (mixed(seed & MASK) + (counter + 1) * 0x9E3779B97F4A7C15) & MASK
    expected = (mixed(state) >> 11) / 2**53
    assert random_numbers(seed, np.array([counter], dtype=np.uint64)).tolist() == [expected]


def test_random_numbers_are_even_and_neighbouring_seeds_and_counters_are_independent():
    counters = np.arange(100_000, dtype=np.uint64)
    one, other = random_numbers(1, counters), random_numbers(2, counters)
    assert stats.kstest(one, "uniform").pvalue > 1e-4
    bound = 4 / np.sqrt(len(counters))
    assert abs(np.corrcoef(one, other)[0, 1]) < bound
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < bound


def test_the_level_changes_only_between_intervals():
    load = Erratic(10, 100, interval="5s", seed=3)
    rates = load.rates(np.arange(0, 50, 0.5)).reshape(10, 10)
    assert np.all(rates == rates[:, :1])
    assert len(set(rates[:, 0])) == 10


def test_a_moment_far_away_needs_none_before_it():
    load = Erratic(10, 100, interval=1, seed=3)
    assert load.rate_at(1e15) == load.rates([5, 1e15])[1]


def test_another_seed_gives_another_load_and_the_same_seed_the_same():
    times_s = np.arange(100)
    assert np.array_equal(Erratic(1, 9, 1, seed=5).rates(times_s), Erratic(1, 9, 1, seed=5).rates(times_s))
    assert not np.any(Erratic(1, 9, 1, seed=5).rates(times_s) == Erratic(1, 9, 1, seed=-6).rates(times_s))


def test_without_peaks_levels_are_even_between_low_and_high():
    rates = Erratic(10, 100, interval=1, peak_chance=0).rates(np.arange(20_000))
    assert stats.kstest(rates, stats.uniform(10, 90).cdf).pvalue > 1e-4


def test_peaks_come_as_often_and_as_high_as_asked():
    count = 20_000
    rates = Erratic(10, 100, interval=1, seed=7, peak_chance=0.1, peak_factor=5).rates(np.arange(count))
    peaks = rates[rates > 100]
    assert abs(len(peaks) - 0.1 * count) < 4 * np.sqrt(count * 0.1 * 0.9)
    assert stats.kstest(peaks, stats.uniform(100, 400).cdf).pvalue > 1e-4


def test_the_mean_of_a_run_is_the_mean_of_its_levels():
    load = Erratic(10, 100, interval=7, seed=1)
    assert load.mean(7000) == pytest.approx(load.rates(np.arange(1000) * 7).mean())
    assert load.peak(7000) == load.rates(np.arange(1000) * 7).max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"peak_factor": 0.5}, "Erratic peak_factor 0.5 is below 1"),
        ({"peak_chance": 1.5}, "Erratic peak_chance 1.5 is not a share: give a number from 0 to 1"),
        ({"seed": 1.5}, "Erratic seed 1.5 is not a whole number"),
        ({"seed": "a"}, "Erratic seed 'a' is not a whole number"),
    ],
)
def test_options_out_of_range_are_refused_with_their_value(options, message):
    with pytest.raises(LoadError, match=message):
        Erratic(1, 2, interval=1, **options)
