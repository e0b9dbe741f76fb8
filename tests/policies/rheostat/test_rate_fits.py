"""A line, a bend and a jump through rates, against numpy's weighted least squares and all possible jumps."""

import numpy as np
import pytest

from rheostat.policies.rheostat.rate_fits import LineFit, bend_in, jump_in


def drawn(count, seed):
    rng = np.random.default_rng(seed)
    times_s, weights = np.cumsum(rng.uniform(0.5, 3.0, count)), rng.uniform(0.5, 3.0, count)
    return list(zip(times_s.tolist(), weights.tolist(), (weights * rng.uniform(0, 90, count)).tolist(), strict=True))


def about_mean(samples):
    _, weights, totals = np.array(samples).T
    return float(weights @ (totals / weights - totals.sum() / weights.sum()) ** 2)


@pytest.mark.parametrize("count", [2, 4, 5, 30])
def test_the_line_is_that_of_weighted_least_squares(count):
    samples = drawn(count, seed=count)
    times_s, weights, totals = np.array(samples).T
    slope, begin = np.polyfit(times_s, totals / weights, 1, w=np.sqrt(weights))
    line = LineFit.of(samples)
    assert line.slope == pytest.approx(slope)
    assert line.mean == pytest.approx(begin + slope * line.middle_s)
    assert line.deviation == pytest.approx(about_mean(samples))
    left = float(weights @ (totals / weights - begin - slope * times_s) ** 2)
    assert line.unexplained == pytest.approx(left, abs=1e-6)


def test_one_sample_is_a_line_without_a_slope():
    assert LineFit.of([(3.0, 2.0, 10.0)]) == LineFit(5.0, 2.0, 3.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("count", [4, 5, 12, 40])
def test_the_jump_is_the_best_of_all_that_leave_two_samples_after_it(count):
    samples = drawn(count, seed=count)
    possible = [
        (about_mean(samples[:end]) + about_mean(samples[end + left_out :]), end + left_out)
        for left_out in (0, 1)
        for end in range(1, count - 1 - left_out)
    ]
    unexplained, first = min(possible)
    assert jump_in(samples) == (first, pytest.approx(unexplained))


@pytest.mark.parametrize("count", [4, 5, 12, 40])
def test_the_bend_is_the_best_of_all_that_leave_two_samples_after_it(count):
    samples = drawn(count, seed=count)
    times_s, weights, totals = np.array(samples).T
    possible = []
    for first in range(1, count - 2):
        known = np.sqrt(weights)[:, np.newaxis] * np.stack([np.ones(count), np.maximum(0, times_s - times_s[first])]).T
        _, left, *_ = np.linalg.lstsq(known, totals / np.sqrt(weights))
        possible.append((float(left[0]), first))
    unexplained, first = min(possible)
    assert bend_in(samples) == (first, pytest.approx(unexplained))


def test_three_samples_show_no_change():
    assert (bend_in(drawn(3, seed=1)), jump_in(drawn(3, seed=1))) == (None, None)
