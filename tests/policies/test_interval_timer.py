"""Beats: what policies do every so often."""

import pytest

from rheostat.policies.interval_timer import IntervalTimer


def test_a_beat_comes_every_so_often_without_drift() -> None:
    beat = IntervalTimer(30)
    due = [time_s for time_s in range(0, 200, 7) if beat.due(5 + time_s)]
    assert due == [35, 63, 91, 126, 154, 182]
    late = IntervalTimer(30)
    assert [late.due(time_s) for time_s in (0, 100, 110, 119, 120)] == [False, True, False, False, True]


def test_a_beat_is_not_missed_by_rounding() -> None:
    beat = IntervalTimer(0.1)
    assert [beat.due(time_s) for time_s in (0.0, 0.1, 0.2, 0.3)] == [False, True, True, True]  # 0.3 / 0.1 < 3


@pytest.mark.parametrize("every_s", [10.0, 30.0])
def test_turns_that_are_not_exactly_a_period_apart_miss_no_beat(every_s: float) -> None:
    """As of a loop on a clock of its own: each turn is a little early or late, the period is ten seconds."""
    turns = [10.0 * n + (0.02, -0.03, 0.01, 0.0, -0.02)[n % 5] for n in range(30)]
    beat = IntervalTimer(every_s)
    due = [turn for turn in turns if beat.due(1000.0 + turn)]
    assert due == pytest.approx([every_s * n for n in range(1, len(due) + 1)], abs=0.05)
    assert len(due) == int(290 / every_s)


def test_a_turn_that_is_early_by_more_than_a_tenth_of_a_period_is_too_early() -> None:
    beat = IntervalTimer(10.0)
    assert [beat.due(time_s) for time_s in (0.0, 4.0, 8.0, 9.0, 9.95)] == [False, False, False, False, True]


def test_a_long_silence_makes_no_later_turn_early() -> None:
    beat = IntervalTimer(10.0)
    assert [beat.due(time_s) for time_s in (0.0, 100.0, 110.0)] == [False, True, True]
