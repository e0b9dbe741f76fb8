import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.measure.smoothing import AlphaWeighted, WindowMean, parse_smoothing


def smoothed(text, values):
    smoother = parse_smoothing(text)()
    return [smoother.update(value) for value in values]


def test_none_passes_every_value_on():
    assert smoothed("none", [1.0, None, 3.0]) == [1.0, None, 3.0]


def test_alpha_weighs_the_old_by_alpha_as_DRS_defines_it():
    assert smoothed("alpha:0.75", [8.0, 4.0, 0.0]) == [8.0, 0.75 * 8 + 0.25 * 4, 0.75 * 7.0]


def test_a_window_is_the_mean_of_its_last_values():
    assert smoothed("window:3", [3.0, 6.0, 9.0, 12.0]) == [3.0, 4.5, 6.0, 9.0]


def test_an_unmeasured_value_is_skipped_and_not_zero():
    assert smoothed("alpha:0.5", [8.0, None, 4.0]) == [8.0, 8.0, 6.0]
    assert smoothed("window:3", [3.0, None, 9.0]) == [3.0, 3.0, 6.0]


def test_a_window_without_any_measurement_is_unknown():
    assert smoothed("window:2", [3.0, None, None, 5.0]) == [3.0, 3.0, None, 5.0]


def test_a_gap_as_long_as_the_memory_of_alpha_makes_it_unknown_and_starts_afresh():
    assert smoothed("alpha:0.75", [8.0, None, None, None, None, 2.0]) == [8.0, 8.0, 8.0, 8.0, None, 2.0]


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 0.99), st.integers(1, 9))
def test_smoothing_stays_within_the_values_it_saw(values, alpha, size):
    for smoother in (AlphaWeighted(alpha), WindowMean(size)):
        for position, value in enumerate(values):
            result = smoother.update(value)
            seen = values[: position + 1]
            assert min(seen) - 1e-6 <= result <= max(seen) + 1e-6


@pytest.mark.parametrize("text", ["", "alpha", "alpha:x", "window:2.5", "none:1", "mean:3"])
def test_an_unknown_smoothing_is_refused_with_its_text(text):
    with pytest.raises(ConfigError, match=r'is not known: write "none", "alpha:0.8" or "window:6"') as caught:
        parse_smoothing(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["alpha:1", "alpha:-0.1", "alpha:nan", "window:0"])
def test_a_parameter_out_of_range_is_refused_when_parsed(text):
    with pytest.raises(ConfigError, match=r"smoothing (alpha|window) .* must be"):
        parse_smoothing(text)
