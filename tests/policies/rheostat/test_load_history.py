"""What is expected of the load: from seasons, and from moments that were like the present one."""

import pytest

from rheostat.policies.rheostat.load_history import LoadHistory

PERIOD_S = 2.0


def history_of(rates):
    history = LoadHistory()
    for turn, rate in enumerate(rates, 1):
        history.add(turn * PERIOD_S, PERIOD_S, rate)
    return history


def test_nothing_is_expected_before_anything_was_measured():
    history = LoadHistory()
    history.add(2.0, 2.0, None)
    assert (history.rate, history.replay(10.0), history.forecast(10.0)) == (None, None, None)


def test_records_that_are_counted_in_lumps_are_spread_over_the_turns_before():
    history = history_of([0.0, 0.0, 0.0, 200.0] * 10)
    assert history.rate == pytest.approx(50.0)


def test_silence_is_a_rate_of_nothing_after_a_while():
    assert history_of([50.0] * 20 + [0.0] * 20).rate == 0.0


def test_a_rise_that_goes_on_is_expected_to_go_on_and_an_even_load_to_stay():
    assert history_of([80.0] * 60).by_trend(12.0) == pytest.approx(80.0)
    risen = history_of([300.0 + 12 * turn for turn in range(30)])
    assert risen.rate == pytest.approx(648.0, rel=0.1)
    assert max(history_of([300.0 + 12 * turn for turn in range(n)]).by_trend(12.0) for n in (28, 29, 30)) > 660


def test_moments_like_the_present_one_are_replayed_and_not_the_top_of_a_burst_in_a_calm():
    calm, burst = [50.0] * 9, [200.0] * 6
    pattern = [rate for length in (0, 5, 2, 8, 1, 6, 3, 9, 4, 7, 2, 5) for rate in (*calm, *([50.0] * length), *burst)]
    history = history_of([*pattern, *calm])
    replay = history.replay(20.0)
    rates = dict(enumerate([*pattern, *calm], 1))
    assert len(replay.moments_s) > 30
    assert max(rates[round(moment_s / PERIOD_S)] for moment_s in replay.moments_s) <= 1.3 * 50


def test_there_is_nothing_to_replay_before_enough_was_seen():
    assert history_of([80.0] * 20).replay(20.0) is None


def test_the_season_before_tells_the_next_peak():
    season = [50.0] * 70 + [300.0] * 20
    history = history_of(season * 3 + [50.0] * 65)
    assert history.rate == pytest.approx(50.0, rel=0.02)
    assert history.forecast(12.0) == pytest.approx(300.0, rel=0.02)
    assert history_of(season * 3 + [50.0] * 40).forecast(12.0) == pytest.approx(50.0, rel=0.02)


def test_what_does_not_come_again_is_no_season():
    assert history_of([50.0] * 100 + [300.0] * 20 + [50.0] * 100).forecast(12.0) is None
