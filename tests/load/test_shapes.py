"""Shapes: what holds for all of them, and what each of them draws."""

import pickle
from dataclasses import FrozenInstanceError, replace
from math import exp, pi, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import ConfigError, LoadError
from rheostat.load import (
    Constant,
    Diurnal,
    Erratic,
    OpeningAuction,
    Progressive,
    Ramp,
    Shape,
    Sine,
    Spike,
    Step,
    Trace,
)

amounts = st.floats(0, 1e9)
factors = st.floats(0, 100)
spans = st.floats(0, 1e5)
periods = st.floats(1e-2, 1e5)
times = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@st.composite
def bands(draw, kind, **fields):
    low, high = sorted((draw(amounts), draw(amounts)))
    return kind(low=low, high=high, **{name: draw(values) for name, values in fields.items()})


@st.composite
def sines(draw):
    base = draw(amounts)
    return Sine(base, draw(st.floats(0, base)), draw(periods), draw(spans))


@st.composite
def steps(draw):
    later = draw(st.lists(periods, max_size=5, unique=True))
    return Step([(t, draw(amounts)) for t in [0, *sorted(later)]])


@st.composite
def traces(draw):
    levels = draw(st.lists(amounts, min_size=1, max_size=6))
    every = draw(periods)
    at = every * np.arange(len(levels))
    return Trace(at, levels, every * len(levels), draw(st.sampled_from(["step", "linear"])))


curves = st.one_of(
    st.builds(Constant, amounts),
    steps(),
    st.builds(Ramp, amounts, amounts, periods, spans),
    sines(),
    st.builds(Spike, amounts, factors, spans, spans, spans),
    bands(Progressive, rise=periods, plateau=spans, fall=periods, start=spans),
    bands(Erratic, interval=periods, seed=st.integers(), peak_chance=st.floats(0, 1), peak_factor=st.floats(1, 9)),
    st.builds(OpeningAuction, amounts, st.lists(factors, min_size=1, max_size=4), periods, periods),
    bands(Diurnal, peak_hour=st.floats(-24, 48), day=periods),
    traces(),
)
shapes = st.recursive(
    curves,
    lambda parts: st.one_of(
        st.builds(Shape.__add__, parts, parts),
        st.builds(Shape.__mul__, parts, factors),
        st.builds(Shape.delayed, parts, spans),
        st.builds(Shape.repeated, parts, periods),
    ),
    max_leaves=4,
)


@given(shapes, times)
def test_rates_are_finite_and_never_negative_at_any_time(shape, times_s):
    rates = shape.rates(times_s)
    assert np.all(np.isfinite(rates))
    assert np.all(rates >= 0)


@given(shapes, times)
def test_many_times_at_once_give_what_each_gives_alone(shape, times_s):
    alone = [shape.rate_at(t_s) for t_s in times_s]
    assert all(type(rate) is float for rate in alone)
    np.testing.assert_allclose(shape.rates(times_s), alone, rtol=1e-12, atol=1e-9)


@given(shapes)
def test_rates_keep_the_dimensions_of_the_times(shape):
    assert shape.rates(np.zeros((2, 3))).shape == (2, 3)
    assert shape.rates([1, 2]).dtype == np.float64


@given(shapes)
def test_shapes_survive_pickling_and_compare_by_value(shape):
    copy = pickle.loads(pickle.dumps(shape))
    assert copy == shape
    assert hash(copy) == hash(shape)


@given(shapes, shapes, times)
def test_sums_and_products_are_taken_at_each_moment(one, other, times_s):
    np.testing.assert_array_equal((one + other).rates(times_s), one.rates(times_s) + other.rates(times_s))
    np.testing.assert_array_equal((one * other).rates(times_s), one.rates(times_s) * other.rates(times_s))


@given(shapes, factors, times)
def test_a_number_stands_for_a_constant_on_either_side(shape, number, times_s):
    rates = shape.rates(times_s)
    for doubled in (shape * number, number * shape, np.float64(number) * shape):
        np.testing.assert_array_equal(doubled.rates(times_s), rates * number)
    for raised in (shape + number, number + shape, sum([shape], start=number)):
        np.testing.assert_array_equal(raised.rates(times_s), rates + number)


@given(shapes, st.floats(1, 20))
def test_the_mean_lies_between_the_lowest_and_the_highest_rate(shape, until_s):
    sampled = shape.rates(np.linspace(0, until_s * (1 - 1e-12), 500))
    assert shape.peak(until_s) >= sampled.max() * (1 - 1e-4) - 1e-9
    assert shape.mean(until_s) <= shape.peak(until_s) * (1 + 1e-4) + 1e-9


@given(sines(), st.integers(1, 50))
def test_over_whole_periods_the_mean_of_a_sine_is_its_base_and_its_peak_the_sum(sine, count):
    until_s = count * sine.period
    assert sine.mean(until_s) == pytest.approx(sine.base, rel=1e-9)
    assert sine.peak(until_s) == pytest.approx(sine.base + sine.amplitude, rel=1e-9)


@pytest.mark.parametrize(
    "shape",
    [
        Sine(100, 80, 7) * Diurnal(0, 2, day=90) + Spike(10, 8, at=30, duration=2, decay=1),
        OpeningAuction(10, factors=[70, 80], decay=2, session=40).repeated(60),
        Ramp(0, 50, duration=33).repeated(35) + Step([(0, 5), (71.3, 90)]).delayed(4),
        Progressive(1, 9, rise=20, plateau=30, fall=10) * Erratic(1, 5, interval=0.7),
    ],
)
def test_mean_and_peak_agree_with_a_million_samples(shape):
    samples = shape.rates((np.arange(1_000_000) + 0.5) * 1e-4)
    assert shape.mean(100) == pytest.approx(samples.mean(), rel=1e-4)
    assert shape.peak(100) == pytest.approx(samples.max(), rel=1e-3)


def test_constant():
    assert Constant(7).rates([-1, 0, 1e9]).tolist() == [7, 7, 7]


def test_a_step_jumps_exactly_at_its_time_and_then_stays():
    step = Step([(0, 10), ("1m", 30), (90, 0)])
    assert step.rates([-5, 0, 59.999, 60, 89.999, 90, 1e6]).tolist() == [10, 10, 10, 30, 30, 0, 0]
    assert step.mean("2m") == pytest.approx((60 * 10 + 30 * 30) / 120)
    assert step.peak("2m") == 30
    assert step.peak("1m") == 10


def test_a_ramp_is_a_straight_line_up_or_down():
    assert Ramp(10, 30, duration=20, start=5).rates([0, 5, 10, 15, 25, 99]).tolist() == [10, 10, 15, 20, 30, 30]
    assert Ramp(30, 10, duration="20s").rates([0, 10, 20]).tolist() == [30, 20, 10]


def test_a_sine_rises_from_its_base_and_its_phase_is_the_time_already_passed():
    assert Sine(100, 50, "60s").rates([0, 15, 45]).tolist() == pytest.approx([100, 150, 50])
    assert Sine(100, 50, "60s", phase="15s").rate_at(0) == pytest.approx(150)
    assert Sine(100, 50, 60).rate_at(7) == pytest.approx(100 + 50 * sin(2 * pi * 7 / 60))


def test_a_sine_that_would_fall_below_zero_is_refused_with_both_numbers():
    with pytest.raises(LoadError, match="amplitude 150 is more than its base 100"):
        Sine(100, 150, 60)
    assert Sine(30, 30, 4).rate_at(3) == 0


def test_a_spike_without_decay_is_a_rectangle():
    spike = Spike(base=10, factor=8, at="1m", duration="5s")
    assert spike.rates([59.9, 60, 64.9, 65, 70]).tolist() == [10, 80, 80, 10, 10]
    assert spike.mean("100s") == pytest.approx((95 * 10 + 5 * 80) / 100)


def test_a_spike_of_a_millisecond_in_a_day_is_not_missed():
    spike = Spike(base=10, factor=8, at=40_000.123, duration="1ms")
    assert spike.peak("1d") == 80
    assert spike.mean("1d") == pytest.approx(10 + 70 * 1e-3 / 86400, rel=1e-12)


def test_a_spike_with_decay_fades_with_its_time_constant():
    spike = Spike(base=10, factor=8, at=60, duration=5, decay=2)
    assert spike.rates([64, 65, 67, 1000]).tolist() == pytest.approx([80, 80, 10 + 70 * exp(-1), 10])
    assert spike.mean(1e4) == pytest.approx(10 + 70 * (5 + 2) / 1e4, rel=1e-9)


def test_a_factor_below_one_makes_a_dip():
    assert Spike(base=10, factor=0, at=1, duration=1).rates([0, 1, 2]).tolist() == [10, 0, 10]


def test_progressive_rises_stays_and_falls():
    hill = Progressive(10, 50, rise=4, plateau=10, fall=8, start=2)
    at = [0, 2, 4, 6, 10, 16, 20, 24, 99]
    assert hill.rates(at).tolist() == [10, 10, 30, 50, 50, 50, 30, 10, 10]
    assert hill.mean(24) == pytest.approx(10 + 40 * (2 + 10 + 4) / 24)


@pytest.mark.parametrize("kind", [Progressive, Diurnal, Erratic])
def test_a_low_above_the_high_is_refused_with_both_numbers(kind):
    lengths = {Progressive: {"rise": 1, "plateau": 1, "fall": 1}, Erratic: {"interval": 1}, Diurnal: {}}
    with pytest.raises(LoadError, match=f"{kind.__name__} low 9 is more than its high 3"):
        kind(low=9, high=3, **lengths[kind])


def test_a_day_is_highest_at_its_peak_hour_and_lowest_twelve_hours_away():
    day = Diurnal(100, 900, peak_hour=20)
    assert day.rates(np.array([20, 8, 2, 14, 44]) * 3600).tolist() == pytest.approx([900, 100, 500, 500, 900])
    assert day.mean("24h") == pytest.approx(500)
    assert day.peak("24h") == 900


def test_a_day_can_pass_in_minutes():
    assert Diurnal(100, 900, peak_hour=20, day="24m").rate_at(20 * 60) == pytest.approx(900)


def test_an_opening_auction_brings_the_orders_of_the_paper():
    """StreamSwitch §6: 14,854,215 orders in four hours, spikes of 70-80 thousand a second when trading opens."""
    orders = OpeningAuction(base=935)
    assert orders.mean("4h") * 4 * 3600 == pytest.approx(14_854_215, rel=1e-3)
    assert orders.peak("4h") == 935 * 80
    assert orders.rates([-1, 0, 7200, 7200 - 1e-6, 7210]).tolist() == pytest.approx(
        [935, 935 * 80, 935 * 70, 935, 935 * (1 + 69 * exp(-1))]
    )


def test_an_opening_auction_has_one_session_for_each_factor_and_then_settles():
    orders = OpeningAuction(10, factors=[70, 75, 80], decay=1, session=100)
    assert orders.rates([0, 100, 200]).tolist() == [700, 750, 800]
    assert orders.rates([300, 1000]).tolist() == pytest.approx([10, 10])


def test_a_delayed_shape_waits_with_the_rate_it_starts_with():
    late = Ramp(10, 30, duration=20).delayed("10s")
    assert late.rates([0, 10, 20, 30]).tolist() == [10, 10, 20, 30]
    assert late.mean(30) == pytest.approx((10 * 10 + 20 * 20) / 30)
    assert late.mean(5) == pytest.approx(10)


def test_a_repeated_shape_starts_over_and_its_highest_rate_may_be_just_before():
    teeth = Ramp(0, 10, duration=10).repeated(every=10)
    assert teeth.rates([0, 4, 10, 14, 24]).tolist() == [0, 4, 0, 4, 4]
    assert teeth.peak(1000) == pytest.approx(10)
    assert teeth.mean(1000) == pytest.approx(5)
    assert teeth.delayed(50).mean(20) == 0


def test_durations_may_be_text_and_read_back_in_seconds():
    assert Sine(1, 1, "1m30s").period == 90
    assert Sine(1, 1, "1m") == Sine(1, 1, 60)


def test_a_shape_cannot_be_changed_but_replaced():
    sine = Sine(100, 50, "1m")
    with pytest.raises(FrozenInstanceError):
        sine.base = 3
    assert replace(sine, amplitude=20) == Sine(100, 20, 60)


@pytest.mark.parametrize("rate", [-1, float("nan"), float("inf"), "5", None, True, 10**400])
def test_a_rate_that_is_none_is_refused_with_its_value(rate):
    with pytest.raises(LoadError) as refused:
        Constant(rate)
    assert str(refused.value).startswith(f"Constant rate {rate!r} is")


@pytest.mark.parametrize(
    ("period", "message"),
    [
        (0, "must be longer than zero"),
        (-1, "is not a duration"),
        ("5 parsecs", "is not a duration"),
        ([5], 'is not a duration: give seconds, or text like "500ms"'),
        ("9" * 400 + "s", "is not a duration"),
        (float("nan"), "is not a duration: give seconds"),
    ],
)
def test_a_period_that_is_none_is_refused_with_its_name(period, message):
    with pytest.raises((ConfigError, LoadError), match=f"Sine period .*{message}"):
        Sine(1, 1, period)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], r"Step steps \[\] is not a list with at least one entry"),
        ("0s", "Step steps '0s' is not a list"),
        ([5], r"Step steps 5 is not a pair: write \[time, rate\]"),
        ([(0, 1, 2)], "is not a pair"),
        ([("1m", 5)], "Step steps begin at 1m: begin at 0"),
        ([(0, 5), (3, 6), ("2s", 7)], "Step steps have 2s after 3s"),
        ([(0, 5), (0, 6)], "Step steps have 0s after 0s"),
        ([(0, -5)], "Step steps rate -5 is not a finite number >= 0"),
        ([("soon", 5)], "Step steps time 'soon' is not a duration"),
    ],
)
def test_steps_that_cannot_be_followed_are_refused(steps, message):
    with pytest.raises((ConfigError, LoadError), match=message):
        Step(steps)


def test_an_opening_auction_without_factors_is_refused():
    with pytest.raises(
        LoadError, match=r"OpeningAuction factors \[\] is not a list of finite numbers >= 0, at least one"
    ):
        OpeningAuction(10, factors=[])


def test_what_is_needed_must_be_given():
    with pytest.raises(TypeError, match="period"):
        Sine(base=1, amplitude=1)


@pytest.mark.parametrize("until", [0, -1, "never"])
def test_a_mean_or_peak_needs_a_stretch_of_time(until):
    with pytest.raises((ConfigError, LoadError), match="until"):
        Constant(1).mean(until)
    with pytest.raises((ConfigError, LoadError), match="until"):
        Constant(1).peak(until)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (Sine(100, 50, "1us"), "Sine period 1us is too short: it recurs 60,000,000 times in 1m; give at least 48us"),
        (Diurnal(1, 2, day="1us"), "Diurnal day 1us is too short"),
        (Erratic(1, 2, interval="1us"), "Erratic interval 1us is too short: .* give at least 12us"),
        (Constant(1).repeated("1us"), "Repeated every 1us is too short"),
        (Sine(100, 50, "1us").delayed(5) + 1, "Sine period 1us is too short"),
        (Step([(0, 1), (0.0005, 2)]).repeated("1ms") * Sine(9, 1, 1e-9), "Sine period 0.001us is too short"),
    ],
)
def test_a_load_that_recurs_too_often_for_its_mean_and_peak_is_refused_with_what_would_do(shape, message):
    for figure in (shape.mean, shape.peak):
        with pytest.raises(LoadError, match=message):
            figure("1m")
    assert shape.peak("1us") > 0


def test_a_shape_that_repeats_later_than_needed_is_not_followed_to_its_end():
    slow = Sine(100, 50, "1ms").repeated("100d")
    assert slow.peak("1s") == pytest.approx(150)
