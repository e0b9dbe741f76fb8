"""What is expected of the load: from seasons, and from moments that were like the present one."""

import numpy as np
import pytest

from rheostat.policies.rheostat.load_history import LoadHistory

PERIOD_S = 2.0


def history_of(rates, costs_s=None):
    history = LoadHistory()
    for turn, (rate, cost_s) in enumerate(zip(rates, costs_s or [0.01] * len(rates), strict=True), 1):
        history.costs_now(cost_s)
        history.add(turn * PERIOD_S, PERIOD_S, rate)
    return history


def most_within(replay, horizon_s, since_s=0.0):
    """Records after the moments since then."""
    moments_s = replay.moments_s[replay.supposed :]
    entered = [np.interp(moments_s + later_s, replay.times_s, replay.arrived) for later_s in (0.0, horizon_s)]
    return np.max((entered[1] - entered[0])[moments_s >= since_s])


def test_nothing_is_expected_before_anything_was_measured():
    history = LoadHistory()
    history.add(2.0, 2.0, None)
    assert (history.rate, history.replays(10.0), history.forecast(10.0)) == (None, (), None)


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


def test_a_rise_is_expected_to_go_on_as_far_as_rises_went_before():
    calm, begun = [50.0] * 12, [50.0 + 8 * turn for turn in range(8)]
    go_on, end = [*begun, *np.arange(114.0, 250.0, 8.0), *[250.0] * 16], [*begun, *[50.0] * 33]
    unknown, trusted, doubted = (
        history_of([*before * 8, *calm, *begun]).by_trend(30.0) for before in (calm, [*calm, *go_on], [*calm, *end])
    )
    assert unknown > 200.0
    assert trusted == pytest.approx(unknown, rel=0.15)
    assert doubted < 0.6 * unknown


@pytest.mark.parametrize("rate", [0.0, 20.0])
def test_a_clock_that_was_set_back_begins_a_new_history(rate):
    history = history_of([50.0] * 40)
    history.add(10.0, PERIOD_S, rate)
    assert history.rate == (rate or None)
    for turn in range(6, 20):
        history.add(turn * PERIOD_S, PERIOD_S, 20.0)
    assert history.rate == pytest.approx(20.0, rel=0.1)
    assert history.replays(10.0)


@pytest.mark.parametrize("within", [25.0, 32.0, 44.0, 50.0])
def test_a_jump_of_an_even_load_is_not_expected_to_go_on(within):
    """It comes within a turn, so that it is seen in two steps; as far as looked back, the turns before are in it."""
    rates = [25.0] * 40 + [within] + [50.0] * 40
    expected = [history_of(rates[:n]).by_trend(12.0) for n in range(41, len(rates) + 1)]
    assert max(expected) < 60.0
    assert min(expected[3:]) == pytest.approx(50.0, rel=0.05)


def test_a_rise_is_seen_as_it_begins_although_the_load_was_even_for_long():
    even, risen = [25.0] * 50, [26.5 + 3 * turn for turn in range(8)]
    assert history_of(even + risen[:3]).rate > 30.0
    assert history_of(even + risen).by_trend(12.0) > 60.0


def test_a_rate_of_records_that_are_read_in_batches_counts_once_and_at_the_time_when_they_came():
    """The load rises by 2/s each second. A batch of 6 s hides it: the rate before is told again and again."""
    history, until_s, rate = LoadHistory(), 0.0, 0.0
    for turn in range(1, 40):
        time_s, before_s = turn * PERIOD_S, until_s
        until_s = time_s - time_s % 6.0
        if until_s > before_s:
            rate = 100.0 + until_s + before_s
        if until_s > 0:
            history.add(time_s, PERIOD_S, rate, until_s)
    assert history.rate == pytest.approx(100.0 + 2 * time_s, rel=0.05)
    assert history.by_trend(10.0) == pytest.approx(100.0 + 2 * (time_s + 10.0), rel=0.06)


def test_moments_like_the_present_one_are_replayed_and_not_the_top_of_a_burst_in_a_calm():
    calm, burst = [50.0] * 9, [200.0] * 6
    pattern = [rate for length in (0, 5, 2, 8, 1, 6, 3, 9, 4, 7, 2, 5) for rate in (*calm, *([50.0] * length), *burst)]
    history = history_of([*pattern, *calm])
    (replay,) = history.replays(20.0)
    rates = dict(enumerate([*pattern, *calm], 1))
    seen_s = replay.moments_s[replay.supposed :]
    assert len(seen_s) > 30
    assert max(rates[round(moment_s / PERIOD_S)] for moment_s in seen_s) <= 1.3 * 50


def test_bursts_of_a_load_that_has_doubled_are_expected_to_be_twice_as_high():
    def rates_at(level):
        lengths = (30, 45, 22, 51, 38)
        return [rate for length in lengths for rate in (*[level] * length, *[4 * level] * 8)]

    (before,) = history_of([*rates_at(50.0), *[50.0] * 100]).replays(20.0)
    as_seen, doubled = history_of([*rates_at(50.0), *[100.0] * 200]).replays(20.0)

    assert most_within(before, 10.0) == pytest.approx(2000.0, rel=0.15)
    assert most_within(as_seen, 10.0) < 1500.0
    assert most_within(doubled, 10.0) == pytest.approx(4000.0, rel=0.15)


def test_what_a_far_higher_load_did_is_expected_of_a_low_one_in_proportion():
    _, in_proportion = history_of([50.0] * 100 + [500.0] * 200 + [70.0] * 150).replays(20.0)
    assert most_within(in_proportion, 10.0, since_s=400.0) == pytest.approx(700.0, rel=0.2)


def test_a_load_that_has_fallen_is_not_replayed_at_another_level():
    assert len(history_of([100.0] * 200 + [50.0] * 200).replays(20.0)) == 1


def test_before_enough_was_seen_the_load_may_double_and_later_it_is_as_seen():
    (new,) = history_of([80.0] * 20).replays(20.0)
    assert (len(new.moments_s), new.supposed) == (1, 1)
    rise_s = new.moments_s[0]
    before, then, after = np.interp([rise_s - 20.0, rise_s, rise_s + 20.0], new.times_s, new.arrived)
    assert (then - before, after - then) == pytest.approx((80.0 * 20, 160.0 * 20))
    shares = [
        r.supposed / len(r.moments_s) for n in (150, 230, 600, 1500) for r in history_of([80.0] * n).replays(20.0)
    ]
    assert shares[0] > shares[1] > 0.05 > shares[2] > shares[3] >= 0.0


def test_a_load_that_falls_lower_than_ever_is_expected_to_do_what_it_did_when_it_was_lowest():
    """Not to double its usual rate, as long as no moment was like the present one."""
    (replay,) = history_of([*[200.0] * 200, *np.arange(200.0, 20.0, -4.5)]).replays(20.0)
    assert 0 < replay.supposed / len(replay.moments_s) <= 0.05
    assert most_within(replay, 20.0) <= 20.0 * 150.0


def test_a_load_below_its_median_is_supposed_to_double_and_not_to_jump_to_twice_its_median():
    (replay,) = history_of([200.0] * 100 + [60.0] * 40).replays(20.0)
    rise_s = replay.moments_s[0]
    before, then, after = np.interp([rise_s - 20.0, rise_s, rise_s + 20.0], replay.times_s, replay.arrived)
    assert replay.supposed > 0
    assert (then - before, after - then) == pytest.approx((60.0 * 20, 120.0 * 20), rel=0.05)


def test_a_load_that_is_far_above_its_mean_is_not_supposed_to_rise_further():
    history = history_of([50.0] * 200 + [300.0] * 20)
    (replay,) = history.replays(20.0)
    rise_s = replay.moments_s[0]
    before, then, after = np.interp([rise_s - 20.0, rise_s, rise_s + 20.0], replay.times_s, replay.arrived)
    assert replay.supposed > 0
    assert after - then == pytest.approx(then - before) == pytest.approx(20.0 * history.rate)


def test_the_season_before_tells_the_next_peak():
    season = [50.0] * 70 + [300.0] * 20
    history = history_of(season * 3 + [50.0] * 65)
    assert history.rate == pytest.approx(50.0, rel=0.02)
    assert history.forecast(12.0) == pytest.approx(300.0, rel=0.02)
    assert history_of(season * 3 + [50.0] * 40).forecast(12.0) == pytest.approx(50.0, rel=0.02)


def test_what_does_not_come_again_is_no_season():
    assert history_of([50.0] * 100 + [300.0] * 20 + [50.0] * 100).forecast(12.0) is None


def test_chance_at_a_constant_load_is_no_season():
    for seed in range(8):
        history = LoadHistory()
        for turn, count in enumerate(np.random.default_rng(seed).poisson(130, 300), 1):
            history.costs_now(0.01)
            history.add(turn * PERIOD_S, PERIOD_S, count / 5.0)
            assert history.forecast(12.0) is None, f"seed {seed}, turn {turn}"


def test_a_season_of_what_a_record_costs_is_one_of_the_load():
    season = [1.0] * 70 + [6.0] * 20
    factors = season * 3 + [1.0] * 65
    by_cost = history_of([50.0] * len(factors), [None] * 5 + [0.01 * factor for factor in factors[5:]])
    assert by_cost.rate == pytest.approx(50.0)
    assert by_cost.forecast(12.0) == pytest.approx(300.0, rel=0.02), "in records of what one costs now"
    in_the_peak = history_of([50.0] * 350, [0.01 * factor for factor in (season * 4)[:350]])
    assert in_the_peak.forecast(2.0) == pytest.approx(50.0), "what comes is no more than there is"


def test_costs_that_vary_a_little_are_no_season():
    rng = np.random.default_rng(1)
    assert history_of([50.0] * 400, list(0.01 * rng.uniform(0.9, 1.1, 400))).forecast(12.0) is None


def test_what_is_expected_to_enter_is_as_a_season_before_or_as_after_moments_like_this_one():
    assert history_of([]).expected(12.0) is None
    records, *band = history_of([80.0] * 20).expected(12.0)
    assert records == pytest.approx(960.0, rel=0.02)
    assert band == [None, None], "too little was seen"
    season = [50.0] * 70 + [300.0] * 20
    before_the_peak = history_of(season * 3 + [50.0] * 69).expected(12.0)
    assert before_the_peak.records == pytest.approx(50 * 2 + 300 * 10, rel=0.05)
    rng = np.random.default_rng(4)
    records, low, high = history_of(list(rng.poisson(100, 500).astype(float))).expected(12.0)
    assert records == pytest.approx(1200, rel=0.03)
    assert low == pytest.approx(1200 - 1.64 * 10 * 2 * 6**0.5, rel=0.03), "six turns, each with 200 ± 20 records"
    assert high == pytest.approx(1200 + 1.64 * 10 * 2 * 6**0.5, rel=0.03)


def test_records_that_are_counted_a_turn_late_are_no_rise():
    rates = [40.0] * 10 + [24.0, 56.0] + [40.0] * 3
    highest = max(history_of(rates[:n]).by_trend(12.0) for n in range(1, len(rates) + 1))
    assert highest == pytest.approx(40.0, rel=0.02)


def test_a_jump_is_believed_at_once_also_after_a_turn_with_few_records():
    assert history_of([40.0] * 10 + [120.0]).rate > 100
    assert history_of([40.0] * 10 + [30.0, 120.0]).rate > 90


def test_a_rise_is_seen_sooner_if_records_come_evenly():
    """The rate rises by two records a second each second: it will be 58 in 13 s."""
    rise = [20.0, 24.0, 28.0, 32.0]
    evenly = history_of([16.0] * 10 + rise).by_trend(13.0)
    by_chance = history_of([12.0, 20.0] * 5 + rise).by_trend(13.0)
    assert 42 < evenly < 58
    assert by_chance < evenly - 3


def test_rises_of_what_a_record_costs_are_replayed_like_those_of_the_rate():
    calm, peak = 9, 6
    lengths = (0, 5, 2, 8, 1, 6, 3, 9, 4, 7, 2, 5)
    factors = [f for length in lengths for f in [1.0] * (calm + length) + [4.0] * peak] + [1.0] * calm
    (by_rate,) = history_of([50.0 * factor for factor in factors]).replays(20.0)
    of_rates, of_work = history_of([50.0] * len(factors), [0.01 * factor for factor in factors]).replays(20.0)
    rises = [
        np.max(np.interp(r.moments_s + 20.0, r.times_s, r.arrived) - np.interp(r.moments_s, r.times_s, r.arrived))
        for r in (by_rate, of_work)
    ]
    assert rises[0] == pytest.approx(50.0 * (4 * peak + 10 - peak) * PERIOD_S, rel=0.15)
    assert rises[1] == pytest.approx(rises[0], rel=0.02)
    assert (of_rates.is_expected_once, of_work.is_expected_once) == (True, False)


@pytest.mark.parametrize("learned", [[None] * 30, [0.05] * 10 + [0.03] * 10 + [0.02] * 10])
def test_what_records_seemed_to_cost_before_that_is_known_counts_for_nothing(learned):
    costs_s = [0.01] * 30 + [0.02] * 10 + [0.01] * 30
    _, replay = history_of([50.0] * 100, learned + costs_s).replays(10.0)
    arrived = np.interp([20.0, 50.0, 80.0, 110.0, 119.0], replay.times_s, replay.arrived)
    assert np.diff(arrived) == pytest.approx([1500.0] * 3 + [450.0])
    assert np.interp(139.0, replay.times_s, replay.arrived) - arrived[-1] == pytest.approx(2000.0, rel=0.05)


def test_records_are_counted_by_their_work_only_if_they_ever_came_to_cost_more():
    assert len(history_of([50.0] * 90, [0.04] * 30 + [0.03] * 30 + [0.01] * 30).replays(10.0)) == 1
    assert len(history_of([50.0] * 90, [0.01] * 60 + [0.02] * 30).replays(10.0)) == 2


def test_a_forecast_is_in_records_that_cost_what_they_do_now():
    """Records cost ten times as much in the last third of each minute: the work to come is the same when it begins."""
    costs_s = ([0.002] * 20 + [0.02] * 10) * 4 + [0.002] * 20
    history = history_of([120.0] * len(costs_s), costs_s)
    assert history.forecast(10.0) == pytest.approx(1200.0)
    history.costs_now(0.02)
    assert history.forecast(10.0) == pytest.approx(120.0)


@pytest.mark.parametrize(("risen", "at_460_s"), [(1.0, 2.0), (3.0, 1.0)])
def test_an_unseen_rise_is_supposed_until_the_level_has_risen_by_as_much(risen, at_460_s):
    """Of a load that trebles after 200 s no rise to twice the new level is supposed, once most was at that level."""
    history = LoadHistory()
    for turn in range(1, 231):
        history.add(2.0 * turn, 2.0, 100.0 * (risen if turn > 100 else 1.0))
    replay = history.replays(40.0)[0]
    assert replay.supposed > 0
    entered = replay.arrived[2] - replay.arrived[1]
    assert entered == pytest.approx(at_460_s * 100.0 * risen * 40.0, rel=0.01)
