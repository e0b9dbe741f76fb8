import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.measure.sla_windows import WindowedSuccess

LIMIT_S = 1.0


def by_hand(slots, window):
    """Met and missed windows of one substream; `slots` holds (latencies of what completed, oldest waiting)."""
    met = missed = 0
    for end in range(window, len(slots) + 1):
        latencies = [latency for done, _ in slots[end - window : end] for latency in done]
        if latencies:
            fine = sum(latencies) / len(latencies) <= LIMIT_S * (1 + 1e-9)
            met, missed = met + fine, missed + (not fine)
        elif slots[end - 1][1] > LIMIT_S:
            missed += 1
    return met, missed


slot = st.tuples(st.lists(st.floats(0, 3), max_size=3), st.floats(0, 3))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(slot, min_size=20, max_size=20), min_size=1, max_size=3), st.integers(1, 7))
def test_every_window_agrees_with_the_definition(substreams, window):
    success = WindowedSuccess(LIMIT_S, window * 0.1, 0.1, len(substreams))
    for now in range(20):
        done = [substream[now][0] for substream in substreams]
        oldest = [substream[now][1] for substream in substreams]
        success.add_slot([sum(latencies) for latencies in done], [len(latencies) for latencies in done], oldest)
    expected = [by_hand(substream, window) for substream in substreams]
    assert list(zip(success.met(), success.missed(), strict=True)) == expected


def test_the_rate_is_the_share_of_windows_that_meet_L_and_the_mean_is_over_substreams():
    success = WindowedSuccess(1.0, 1.0, 1.0, 3)
    for latency in (0.5, 1.0, 1.5, 0.5):
        success.add_slot([latency, 0.5, 0.0], [1, 1, 0], [0, 0, 0])
    np.testing.assert_array_equal(success.by_substream(), [0.75, 1.0, math.nan])
    assert success.mean() == 0.875


def test_a_window_in_which_nothing_completes_is_missed_only_when_a_record_waits_too_long():
    success = WindowedSuccess(1.0, 1.0, 1.0, 2)
    success.add_slot([0, 0], [0, 0], [1.0, 1.1])
    np.testing.assert_array_equal(success.by_substream(), [math.nan, 0.0])


def test_no_window_has_been_judged_before_the_first_is_full():
    success = WindowedSuccess(1.0, 3.0, 1.0, 1)
    for _ in range(2):
        success.add_slot([5.0], [1], [0])
    assert success.mean() is None
    success.add_slot([5.0], [1], [0])
    assert success.mean() == 0.0


@pytest.mark.parametrize(("window_s", "slot_s"), [(1.0, 0.3), (0.1, 1.0), (1.0, 0.0)])
def test_a_window_that_is_no_whole_number_of_slots_is_refused(window_s, slot_s):
    with pytest.raises(ConfigError, match="is not a whole number of slots"):
        WindowedSuccess(1.0, window_s, slot_s, 1)


def test_slots_that_divide_the_window_only_up_to_rounding_are_taken():
    WindowedSuccess(1.0, 0.3, 0.1, 1)


def test_the_age_of_what_waits_is_asked_for_only_if_nothing_was_completed():
    asked = []

    def oldest():
        asked.append(True)
        return [1.5]

    success = WindowedSuccess(1.0, 2.0, 1.0, 1)
    for completed in (1, 1, 0):
        success.add_slot([0.5 * completed], [completed], oldest)
    assert (asked, success.met().tolist(), success.missed().tolist()) == ([], [2], [0])
    success.add_slot([0.0], [0], oldest)
    assert (asked, success.missed().tolist()) == ([True], [1])
