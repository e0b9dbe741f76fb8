"""The mean over the longest time in which a rate did not change, against drawn counts."""

import math

import numpy as np
import pytest
from scipy import stats

from rheostat.policies.rheostat.consistent_mean import ConsistentMean, _normal_of_ratio


def counted(rates, seed, period_s=2.0):
    """A mean that has seen Poisson counts at each of `rates`, turn by turn, and the time of the last one."""
    rng, mean = np.random.default_rng(seed), ConsistentMean()
    for turn, rate in enumerate(rates, 1):
        mean.add(turn * period_s, period_s, float(rng.poisson(rate * period_s)))
    return mean, len(rates) * period_s


def test_nothing_is_known_without_a_sample():
    assert ConsistentMean().mean(0.0) is None


def test_an_even_rate_is_averaged_over_a_long_time():
    errors = []
    for seed in range(200):
        mean, now_s = counted([100.0] * 60, seed)
        errors.append(mean.mean(now_s) - 100.0)
    deviation, half_width = float(np.std(errors)), 1.96 * float(np.std(errors)) / math.sqrt(len(errors))
    assert abs(np.mean(errors)) < half_width + 0.2
    assert deviation < 3 * math.sqrt(100.0 / 120)  # changes seen by chance shorten the time


def test_chance_is_no_trend_although_the_counts_before_are_alike():
    """Where they are by chance, it seems that records come evenly, and that a deviation means something."""
    rng, mean, expected = np.random.default_rng(1), ConsistentMean(), []
    for turn, count in enumerate([*rng.poisson(48, 500), *[48] * 70, 56, 58, 60, 62, 64], 1):
        mean.add(2.0 * turn, 2.0, float(count))
        expected.append(mean.estimate(2.0 * turn).at(2.0 * turn + 12.0))
    assert max(expected[-5:]) < 1.1 * 24.0


@pytest.mark.parametrize("after", [300.0, 40.0])
def test_a_jump_is_followed_within_two_turns(after):
    estimates = []
    for seed in range(100):
        mean, now_s = counted([100.0] * 30 + [after] * 2, seed)
        estimates.append(mean.mean(now_s))
    assert np.mean(estimates) == pytest.approx(after, rel=0.05)


def test_a_clock_that_goes_back_starts_again():
    mean, _ = counted([100.0] * 5, seed=1)
    mean.add(1.0, 1.0, 7.0)
    assert mean.mean(1.0) == 7.0


@pytest.mark.parametrize(
    ("ratio", "count", "older_count"),
    [(0.3, 7, 300), (2.7, 7, 300), (4.0, 5, 5), (0.2, 5, 5), (1.5, 100, 300), (0.7, 100, 300), (1.3, 400, 400)],
)
def test_a_ratio_of_two_means_is_as_unlikely_as_by_the_exact_distribution(ratio, count, older_count):
    exact = stats.norm.isf(stats.f(2 * count, 2 * older_count).sf(ratio))
    assert _normal_of_ratio(ratio, count, older_count) == pytest.approx(exact, abs=0.05)


def test_a_few_long_service_times_are_no_jump_of_the_cost():
    rng = np.random.default_rng(3)
    jumps = 0
    for _ in range(20):
        cost = ConsistentMean(relative=True)
        for turn in range(1, 600):
            records = int(rng.integers(4, 12))
            cost.add(2.0 * turn, records, float(rng.exponential(0.1, records).sum()))
            jumps += turn > 60 and not 0.05 < cost.mean(2.0 * turn) < 0.2
    assert jumps <= 3
