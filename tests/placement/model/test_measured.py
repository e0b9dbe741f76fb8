import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rheostat.placement.model.measured import trimmed_mean


@pytest.mark.parametrize(
    ("samples", "mean"), [([], None), ([4.0], 4.0), ([1.0, 5.0], 3.0), ([9.0, 1.0, 4.0], 4.0), ([1, 1, 7, 7], 4.0)]
)
def test_the_largest_and_the_smallest_are_left_out_from_three_samples_on(samples, mean):
    assert trimmed_mean(samples) == mean


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=40))
def test_it_agrees_with_scipy(samples):
    assert trimmed_mean(samples) == pytest.approx(stats.trim_mean(samples, 1.0001 / len(samples)), rel=1e-9, abs=1e-9)
