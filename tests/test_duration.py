import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.duration import human, positive_seconds, seconds
from rheostat.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500ms", 0.5), ("2s", 2.0), ("5m", 300.0), ("1h30m", 5400.0), (" 1.5 s ", 1.5), (".5m", 30.0), ("1d", 86400.0)],
)
def test_durations_are_read_as_people_write_them(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


def test_a_bare_number_is_seconds() -> None:
    assert seconds(3) == 3.0
    assert seconds(0.25) == 0.25


@pytest.mark.parametrize("text", ["", "5", "five", "5 parsecs", "-1s", "1s,2s", "s", "1e3s", "5ss"])
def test_what_is_no_duration_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ConfigError, match="SLA latency") as refused:
        seconds(text, "SLA latency")
    assert repr(text) in str(refused.value)
    assert '"500ms"' in str(refused.value)


@pytest.mark.parametrize("number", [-1, math.inf, math.nan, True, 10**400])
def test_numbers_that_are_no_length_of_time_are_refused(number: float) -> None:
    with pytest.raises(ConfigError):
        seconds(number)


def test_a_text_beyond_all_time_is_refused() -> None:
    with pytest.raises(ConfigError):
        seconds("9" * 400 + "s")


def test_zero_is_a_duration_but_not_a_positive_one() -> None:
    assert seconds("0s") == 0.0
    with pytest.raises(ConfigError, match="longer than zero"):
        positive_seconds("0s", "period")


@given(st.floats(min_value=1e-6, max_value=1e7))
def test_what_is_written_for_people_reads_back_to_the_same_three_digits(duration_s: float) -> None:
    assert seconds(human(duration_s)) == pytest.approx(duration_s, rel=0.006)


def test_the_extremes_have_words() -> None:
    assert human(0) == "0s"
    assert human(math.inf) == "forever"
