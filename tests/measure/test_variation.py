import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.measure.variation import Variation, arrival_scv, scv

positive = st.lists(st.floats(0.01, 1e4), min_size=2, max_size=60)


@settings(deadline=None)
@given(positive)
def test_the_streaming_result_is_that_of_the_whole_sample(samples):
    assert scv(samples) == pytest.approx(np.var(samples, ddof=1) / np.mean(samples) ** 2, rel=1e-6, abs=1e-9)


@settings(deadline=None)
@given(positive, positive)
def test_merging_two_is_the_same_as_seeing_all_samples(one, other):
    merged, whole = Variation(one).merge(Variation(other)), Variation(one + other)
    assert merged.count == whole.count
    assert merged.mean == pytest.approx(whole.mean, rel=1e-9)
    assert merged.variance == pytest.approx(whole.variance, rel=1e-6, abs=1e-6)


def test_merging_with_an_empty_one_changes_nothing():
    one = Variation([1.0, 2.0])
    assert one.merge(Variation()).scv == Variation().merge(one).scv == one.scv
    assert Variation().merge(Variation()).scv is None


@pytest.mark.parametrize("samples", [[], [3.0], [0.0, 0.0], [-1.0, 1.0]])
def test_it_is_unknown_under_two_samples_or_around_zero(samples):
    assert scv(samples) is None


def test_exponential_times_have_a_coefficient_of_one_and_constant_ones_of_zero():
    samples = np.random.default_rng(7).exponential(2.0, 200_000)
    spread_of_the_estimate = np.sqrt(8 / len(samples))
    assert scv(samples) == pytest.approx(1.0, abs=4 * spread_of_the_estimate)
    assert scv([2.5] * 10) == 0.0


def test_arrivals_of_all_executors_are_merged_before_their_distances_are_taken():
    every_second, in_between = [0.0, 1.0, 2.0, 3.0], [0.5, 1.5, 2.5]
    assert arrival_scv([every_second, in_between]) == 0.0
    assert arrival_scv([every_second, [0.25, 1.25, 2.25]]) > 0.1
