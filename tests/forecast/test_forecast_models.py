import warnings
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import ConfigError
from rheostat.forecast import MODELS, Forecaster, ForecastModel, ForecastPath, make_model
from rheostat.forecast.forecaster import LARGEST_SAMPLE
from rheostat.forecast.model import Floats, extrapolated
from rheostat.forecast.models.autoregression import Autoregression
from rheostat.forecast.models.basic import Basic
from rheostat.forecast.models.holt_winters import HoltWinters
from rheostat.forecast.models.perceptron import train
from rheostat.forecast.models.regression import best_curve, exponential_curve, linear_curve, logarithmic_curve
from rheostat.forecast.models.season import season_of
from rheostat.forecast.models.seasonal_naive import SeasonalNaive
from rheostat.forecast.models.select import Select

LIGHT = [name for name, model in MODELS.items() if model.light]
RNG = np.random.default_rng
MOMENTS = np.arange(1.0, 101)
FUTURE = np.arange(101.0, 131)


def noisy(seed: int = 0) -> Floats:
    return np.maximum(0.0, 100 + 30 * np.sin(MOMENTS / 7) + RNG(seed).normal(0, 5, len(MOMENTS)))


def test_basic_expects_the_last_interval_again() -> None:
    assert Basic().predict(np.arange(10.0), 3).mean.tolist() == [7, 8, 9]


def test_basic_repeats_a_window_that_is_shorter_than_the_horizon() -> None:
    assert Basic().predict(np.array([4.0, 6.0]), 5).mean.tolist() == [4, 6, 4, 6, 4]


def test_basic_is_as_sure_as_intervals_have_been_alike() -> None:
    alternating = np.tile([1.0, 5.0], 10)
    assert Basic().predict(alternating, 2).error.tolist() == [0, 0]
    assert Basic().predict(alternating, 1).error.tolist() == [4]


def test_a_straight_line_is_continued_and_equals_numpys() -> None:
    samples = noisy()
    slope, offset = np.polyfit(MOMENTS, samples, 1)
    assert make_model("linear").predict(samples, 30).mean == pytest.approx(offset + slope * FUTURE)


def test_the_error_of_a_straight_line_is_the_textbooks() -> None:
    samples, horizon = noisy(), 30
    design = np.stack((np.ones(100), MOMENTS), axis=1)
    weights, *_ = np.linalg.lstsq(design, samples, rcond=None)
    sigma = np.sqrt(np.sum((samples - design @ weights) ** 2) / 98)
    ahead = np.stack((np.ones(horizon), FUTURE), axis=1)
    leverage = np.einsum("ij,jk,ik->i", ahead, np.linalg.inv(design.T @ design), ahead)
    assert extrapolated(sigma, 100, horizon) == pytest.approx(sigma * np.sqrt(1 + leverage))
    assert make_model("linear").predict(samples, horizon).error == pytest.approx(sigma * np.sqrt(1 + leverage))


@pytest.mark.parametrize(
    ("kind", "curve"),
    [
        ("linear", lambda x: 3 + 2 * x),
        ("logarithmic", lambda x: 3 + 20 * np.log(x)),
        ("exponential", lambda x: 3 * np.exp(0.01 * x)),
    ],
)
def test_the_best_fit_finds_the_curve_that_the_samples_lie_on(kind: str, curve) -> None:  # type: ignore[no-untyped-def]
    found = best_curve(curve(MOMENTS))
    assert found.kind == kind
    assert make_model("best-fit").predict(curve(MOMENTS), 30).mean == pytest.approx(curve(FUTURE))
    assert make_model(kind).predict(curve(MOMENTS), 30).mean == pytest.approx(curve(FUTURE))


def test_the_best_fit_leaves_no_more_error_than_any_of_the_three() -> None:
    for seed in range(20):
        samples = 10 + RNG(seed).gamma(2.0, 5.0, 60)
        curves = [fit(samples) for fit in (linear_curve, logarithmic_curve, exponential_curve)]
        errors = [np.sqrt(np.sum((samples - curve.at(MOMENTS[:60])) ** 2) / 58) for curve in curves]
        assert [curve.error for curve in curves] == pytest.approx(errors), "in the unit of the samples, for all three"
        assert best_curve(samples).error == pytest.approx(min(errors))


def test_the_best_fit_of_samples_with_a_zero_does_without_the_exponential() -> None:
    assert best_curve(np.array([0.0, 1.0, 4.0, 9.0])).kind in ("linear", "logarithmic")


def test_fft_continues_whole_periods_exactly() -> None:
    def wave(x: Floats) -> Floats:
        return 50 + 10 * np.sin(2 * np.pi * x / 20) + 5 * np.cos(2 * np.pi * x / 50)

    assert make_model("fft").predict(wave(MOMENTS), 30).mean == pytest.approx(wave(FUTURE))


def test_fft_keeps_ten_frequencies() -> None:
    waves = [np.sin(2 * np.pi * MOMENTS * k / 100) * (12 - k) for k in range(1, 12)]
    samples = 100 + sum(waves)
    expected = 100 + sum(waves[:9])  # the mean and the nine strongest
    assert make_model("fft").predict(samples, 100).mean == pytest.approx(expected)


@pytest.mark.parametrize("season", [5, 24, 40])
def test_the_season_is_found_under_noise_and_a_trend(season: int) -> None:
    samples = 100 + 0.3 * MOMENTS + 20 * np.sin(2 * np.pi * MOMENTS / season) + RNG(1).normal(0, 3, 100)
    assert abs(season_of(samples) - season) <= 1


@pytest.mark.parametrize("seed", range(10))
def test_a_season_of_hundreds_of_samples_is_found_under_noise(seed: int) -> None:
    moments = np.arange(1200)
    samples = 100 + 40 * np.sin(2 * np.pi * moments / 480) + RNG(seed).normal(0, 6, len(moments))
    assert season_of(samples) == pytest.approx(480, rel=0.03)


@pytest.mark.parametrize("seed", range(10))
def test_a_peak_that_comes_back_is_a_season(seed: int) -> None:
    samples = 20 + 100 * (np.arange(300) % 120 < 15) + RNG(seed).normal(0, 5, 300)
    assert season_of(samples) == 120


def test_noise_has_no_season() -> None:
    found = [season_of(RNG(seed).normal(100, 5, 100)) for seed in range(50)]
    assert sum(season == 1 for season in found) >= 45


def test_seasonal_naive_repeats_the_last_season_and_doubts_it_more_each_time() -> None:
    path = SeasonalNaive(season=3).predict(np.array([1.0, 2, 3, 2, 4, 6]), 6)
    assert path.mean.tolist() == [2, 4, 6, 2, 4, 6]
    assert path.error == pytest.approx(np.sqrt([14 / 3] * 3 + [28 / 3] * 3))


def test_holt_winters_continues_a_constant_and_a_pure_season() -> None:
    assert HoltWinters().predict(np.full(50, 7.0), 20).mean == pytest.approx(np.full(20, 7.0))
    pattern = np.array([5.0, 9.0, 1.0, 3.0])
    assert HoltWinters(season=4).predict(np.tile(pattern, 20), 8).mean == pytest.approx(np.tile(pattern, 2))


def test_holt_winters_follows_a_trend_but_damps_it() -> None:
    path = HoltWinters(season=1).predict(10 + 2 * MOMENTS, 30).mean
    assert path[0] == pytest.approx(10 + 2 * FUTURE[0], rel=0.01)
    assert np.all(np.diff(path) > 0)
    assert path[-1] < 10 + 2 * FUTURE[-1]


def test_autoregression_has_the_weights_of_scikit_learns_ridge() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    samples = noisy()
    series = (samples - samples.mean()) / samples.std()
    before = np.array([series[start : start + 10] for start in range(90)])
    ridge = linear_model.Ridge(alpha=0.1 * 90, fit_intercept=False).fit(before, series[10:])
    expected = samples.mean() + samples.std() * ridge.predict(series[-10:][None])[0]
    assert Autoregression().predict(samples, 5).mean[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "exact"),
    [(HoltWinters(season=1), 1e-6), (HoltWinters(season=4), 1e-6), (Autoregression(), 0.01)],
    ids=["trend", "season", "autoregression"],
)
def test_errors_grow_by_what_a_surprise_changes_in_the_steps_after_it(model: ForecastModel, exact: float) -> None:
    """√(1 + Σ c²), where c is what one more in the last sample changes in each step: weights and paces stay as they
    are, those of an autoregression nearly."""
    moments = np.arange(4000)
    samples = 100 + 5 * np.sin(moments / 3) + np.tile([4.0, 0.0, -3.0, -1.0], 1000) + RNG(4).normal(0, 3, 4000)
    surprised = samples.copy()
    surprised[-1] += 0.01
    path = model.predict(samples, 12)
    changes = (model.predict(surprised, 12).mean - path.mean) / 0.01
    expected = np.sqrt(1 + np.concatenate(([0.0], np.cumsum(changes[:-1] ** 2))))
    assert expected[-1] > 1.01
    assert path.error / path.error[0] == pytest.approx(expected, rel=exact)


@pytest.mark.parametrize(("count", "seed"), [(10, 0), (100, 1), (450, 2)])
def test_the_network_is_scikit_learns_draw_by_draw(count: int, seed: int) -> None:
    """The last needs more than one batch for an epoch."""
    neural_network = pytest.importorskip("sklearn.neural_network")
    x = np.linspace(-1.7, 1.7, count)
    y = np.sin(3 * x) + np.random.default_rng(seed).normal(0, 0.2, count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged
        theirs = neural_network.MLPRegressor(random_state=seed).fit(x[:, None], y)
    beyond = np.linspace(-3, 3, 50)
    assert train(x, y, seed).predict(beyond) == pytest.approx(theirs.predict(beyond[:, None]), rel=1e-9)


def test_training_ends_early_as_scikit_learns_does_when_nothing_is_left_to_learn() -> None:
    neural_network = pytest.importorskip("sklearn.neural_network")
    x, y = np.linspace(-1, 1, 50), np.zeros(50)
    theirs = neural_network.MLPRegressor(random_state=0).fit(x[:, None], y)
    assert theirs.n_iter_ < 200
    assert train(x, y, 0).predict(x) == pytest.approx(theirs.predict(x[:, None]), rel=1e-9)


def test_the_forest_is_scikit_learns_with_its_defaults() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    samples = noisy()
    forest = ensemble.RandomForestRegressor(random_state=3).fit(MOMENTS[:, None], samples)
    assert make_model("forest", seed=3).predict(samples, 30).mean == pytest.approx(forest.predict(FUTURE[:, None]))


@pytest.mark.parametrize("name", ["ann", "forest"])
def test_a_seed_makes_a_learned_model_repeat_itself(name: str) -> None:
    if name == "forest":
        pytest.importorskip("sklearn")
    one, same, other = (make_model(name, seed).predict(noisy(), 5).mean for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_the_network_follows_a_rise_whatever_the_unit_of_the_samples() -> None:
    rise = 100 + 2 * MOMENTS
    path = make_model("ann").predict(rise, 30).mean
    assert path == pytest.approx(100 + 2 * FUTURE, rel=0.1)
    assert make_model("ann").predict(1000 * rise, 30).mean == pytest.approx(1000 * path)


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.ensemble", None)
    with pytest.raises(ConfigError, match=r"pip install 'rheostat\[learn\]'"):
        make_model("forest")


def test_an_unknown_model_is_answered_with_the_one_meant() -> None:
    with pytest.raises(ConfigError, match="did you mean 'holt-winters'"):
        make_model("holt-winter")


SERIES = st.lists(st.floats(0, 1e9), min_size=1, max_size=60)


@pytest.mark.parametrize("name", LIGHT)
@given(samples=SERIES, horizon=st.integers(1, 40))
def test_a_forecast_is_finite_and_not_negative_whatever_came(name: str, samples: list[float], horizon: int) -> None:
    forecast = Forecaster(make_model(name)).forecast(samples, horizon)
    for values in (forecast.low, forecast.mean, forecast.high):
        assert values.shape == (horizon,)
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (forecast.low <= forecast.mean).all()
    assert (forecast.mean <= forecast.high).all()


@pytest.mark.parametrize("name", ["ann", "forest"])
@pytest.mark.parametrize("samples", [np.zeros(20), np.full(20, 5.0), np.geomspace(1e-3, 1e9, 30), noisy()])
def test_a_learned_forecast_is_finite_and_not_negative(name: str, samples: Floats) -> None:
    if name == "forest":
        pytest.importorskip("sklearn")
    forecast = Forecaster(make_model(name)).forecast(samples, 10)
    assert np.isfinite(forecast.high).all()
    assert (forecast.low >= 0).all()


@pytest.mark.parametrize("name", MODELS)
def test_too_few_samples_are_no_error(name: str) -> None:
    if name == "forest":
        pytest.importorskip("sklearn")
    forecast = Forecaster(make_model(name)).forecast([8.0], 4)
    assert forecast.mean.tolist() == [8.0] * 4
    if name != "basic":
        assert forecast.model == "basic"
        assert forecast.problem == f"1 samples are too few for {name}, which needs {MODELS[name].least}: basic instead"


class Odd:
    """A model that answers as it is told."""

    name: ClassVar[str] = "odd"
    summary: ClassVar[str] = ""
    least: ClassVar[int] = 1
    light: ClassVar[bool] = True

    def __init__(self, share: float | Exception, error: float = 0.0) -> None:
        self._share, self._error = share, error

    def predict(self, samples: Floats, horizon: int) -> ForecastPath:
        if isinstance(self._share, Exception):
            raise self._share
        return ForecastPath(np.full(horizon, self._share * samples[-1]), np.full(horizon, self._error))


@pytest.mark.parametrize(
    ("share", "problem"),
    [
        (ZeroDivisionError("by zero"), r"odd failed \(by zero\): basic instead"),
        (float("nan"), "odd diverged from the samples: basic instead"),
        (float("inf"), "odd diverged from the samples: basic instead"),
        (1e6, "odd diverged from the samples: basic instead"),
    ],
)
def test_a_model_that_fails_or_runs_away_is_replaced_by_basic_which_is_said(
    share: float | Exception, problem: str
) -> None:
    forecast = Forecaster(Odd(share)).forecast([1.0, 2.0, 3.0], 2)
    assert forecast.mean.tolist() == [2.0, 3.0]
    assert forecast.model == "basic"
    assert forecast.problem is not None
    assert __import__("re").fullmatch(problem, forecast.problem)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_model_that_gives_too_few_or_too_many_steps_is_replaced_by_basic(steps: int) -> None:
    class Miscounting(Odd):
        def predict(self, samples: Floats, horizon: int) -> ForecastPath:
            return super().predict(samples, steps)

    forecast = Forecaster(Miscounting(1.0)).forecast([1.0, 2.0, 3.0], 2)
    assert forecast.mean.tolist() == [2.0, 3.0]
    assert forecast.problem == f"odd failed (it gave values of shape ({steps},) for 2 steps): basic instead"


def test_a_negative_expectation_becomes_zero() -> None:
    assert Forecaster(Odd(-1.0)).forecast([1.0, 2.0, 3.0], 2).mean.tolist() == [0.0, 0.0]


def test_the_total_is_the_events_of_the_interval() -> None:
    assert Forecaster(Basic()).forecast([10.0, 20.0, 30.0], 3).total == 60.0


@pytest.mark.parametrize(
    ("samples", "told"),
    [
        ([], "shape"),
        ([[1.0]], "shape"),
        ([1.0, float("nan")], "sample 1 is nan"),
        ([-2.0], "sample 0 is -2"),
        ([float("inf")], "sample 0 is inf"),
        ([1.0, 2e100], r"sample 1 is 2e\+100: samples must be numbers from 0 to 1e\+100"),
    ],
)
def test_samples_that_cannot_be_continued_are_refused(samples: list[float], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Forecaster(Basic()).forecast(samples, 1)


def test_a_wrong_horizon_or_level_is_refused() -> None:
    with pytest.raises(ConfigError, match="horizon 0"):
        Forecaster(Basic()).forecast([1.0], 0)
    with pytest.raises(ConfigError, match=r"level 1\.5"):
        Forecaster(Basic(), level=1.5)


def test_a_level_next_to_one_gives_bounds_that_are_far_but_finite() -> None:
    level = float(np.nextafter(1.0, 0.0))
    forecast = Forecaster(Basic(), level=level).forecast([1.0, 2.0, 3.0], 2)
    assert np.isfinite(forecast.high).all()
    assert (forecast.high > Forecaster(Basic(), level=0.999).forecast([1.0, 2.0, 3.0], 2).high).all()


@pytest.mark.parametrize("name", [name for name in MODELS if name != "basic"])
def test_a_forecast_of_the_largest_samples_is_finite_and_the_models_own(name: str) -> None:
    if name == "forest":
        pytest.importorskip("sklearn")
    forecast = Forecaster(make_model(name)).forecast(noisy() * (0.99 * LARGEST_SAMPLE / noisy().max()), 10)
    assert np.isfinite(forecast.high).all()
    assert np.isfinite(forecast.total)
    assert forecast.problem is None


@pytest.mark.parametrize("name", ["ann", "forest"])
def test_a_seed_that_scikit_learn_does_not_know_is_no_reason_to_do_without(name: str) -> None:
    if name == "forest":
        pytest.importorskip("sklearn")
    assert Forecaster(make_model(name, 2**40 + 1)).forecast(noisy(), 5).problem is None


@pytest.mark.parametrize("name", ["linear", "basic", "holt-winters", "autoregression"])
def test_bounds_hold_at_least_as_often_as_promised_on_noise(name: str) -> None:
    """400 independent windows of noise around a level, one step ahead: 80 % within a 99.9 % interval, or more."""
    rng = RNG(5)
    forecaster = Forecaster(make_model(name), level=0.8)
    held = 0
    for _ in range(400):
        series = rng.normal(100.0, 5.0, 61)
        forecast = forecaster.forecast(series[:60], 1)
        held += bool(forecast.low[0] <= series[60] <= forecast.high[0])
    assert held / 400 > 0.8 - 3.3 * np.sqrt(0.8 * 0.2 / 400)


def test_bounds_are_the_quantiles_of_the_models_error_and_of_how_wrong_it_was_of_late() -> None:
    """It expects the last sample again: three too little at the end of the window."""
    for level in (0.5, 0.8, 0.95):
        reach = NormalDist().inv_cdf((1 + level) / 2)
        late = Forecaster(Odd(1.0), level=level).forecast([100.0] * 6 + [103.0] * 3, 3)
        assert late.high == pytest.approx(103 + 3 * reach)
        assert late.low == pytest.approx(103 - 3 * reach)
        both = Forecaster(Odd(1.0, error=4.0), level=level).forecast([100.0] * 6 + [103.0] * 3, 3)
        assert both.high == pytest.approx(103 + 5 * reach)


def test_selection_takes_the_model_that_was_right_of_late() -> None:
    season = 100 + 50 * np.sin(2 * np.pi * np.arange(120) / 24)
    assert Select().chosen(season[:100], 20).name == "seasonal-naive"
    assert Forecaster(Select()).forecast(season[:100], 20).mean == pytest.approx(season[100:], abs=1e-6)


def test_the_bounds_of_a_selection_are_as_close_as_what_it_selects() -> None:
    """A straight line would be wrong by the height of the wave, the selected season by the noise alone."""
    moments = np.arange(120)
    waves = 100 + 50 * np.sin(2 * np.pi * moments / 24) + RNG(3).normal(0, 2, 120)
    forecast = Forecaster(Select()).forecast(waves[:100], 20)
    assert (forecast.high - forecast.low).max() < 30
    assert np.mean((forecast.low <= waves[100:]) & (waves[100:] <= forecast.high)) >= 0.8


def test_selection_would_rather_expect_too_much_than_too_little() -> None:
    timid, bold = Odd(0.7), Odd(1.2)
    assert Select((timid, bold)).chosen(np.full(30, 10.0), 10) is bold
    assert Select((timid, bold), under=1.0).chosen(np.full(30, 10.0), 10) is timid
    assert Select((Odd(0.9), bold)).chosen(np.full(30, 10.0), 10) is not bold


def test_selection_never_takes_a_model_that_fails() -> None:
    sound = Odd(0.1)
    assert Select((Odd(ValueError("no")), sound)).chosen(np.full(30, 10.0), 10) is sound


@pytest.mark.parametrize("level", [0.1, 1.0, 40.0, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_the_neural_network_continues_a_constant(level, seed):
    path = make_model("ann", seed).predict(np.full(100, level), 30)
    assert path.mean == pytest.approx(level)


def test_select_stays_with_the_simple_model_unless_another_one_is_much_better():
    rng = np.random.default_rng(1)
    walks = [np.abs(100 + np.cumsum(rng.normal(0, 3, 100))) for _ in range(20)]
    assert sum(Select().chosen(walk, 6).name == "basic" for walk in walks) >= 13
    assert Select().chosen(np.arange(100, dtype=float) * 5, 6).name != "basic"
