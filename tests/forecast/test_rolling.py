import numpy as np
import pytest

from rheostat.errors import ConfigError
from rheostat.forecast import MODELS, Forecaster, make_model
from rheostat.forecast.model import Floats
from rheostat.forecast.models.basic import Basic
from rheostat.forecast.rolling import bias, coverage, mape, origins_in, pinball, roll, wape

TRUTH = np.array([10.0, 20.0, 0.0, 40.0])
FORECAST = np.array([12.0, 15.0, 5.0, 40.0])


def series(length: int = 160) -> Floats:
    return 100 + 40 * np.sin(np.arange(length) / 9) + np.random.default_rng(2).normal(0, 4, length)


@pytest.mark.parametrize("name", MODELS)
def test_no_forecast_knows_what_comes_after_it(name: str) -> None:
    """Whatever is changed from a moment on, the forecasts made up to that moment stay the same."""
    if name == "forest":
        pytest.importorskip("sklearn")
    forecaster, known = Forecaster(make_model(name)), series()
    changed = known.copy()
    changed[120:] = 5000.0
    before, after = (roll(forecaster, each, window=60, horizon=20, stride=20) for each in (known, changed))
    assert before.origins == (60, 80, 100, 120, 140)
    assert np.array_equal(before.mean[:4], after.mean[:4])
    assert not np.array_equal(before.mean[4], after.mean[4])


def test_origins_have_a_full_window_before_and_a_full_horizon_after_them() -> None:
    assert list(origins_in(length=10, window=4, horizon=2, stride=2)) == [4, 6, 8]


def test_each_forecast_stands_beside_what_came() -> None:
    rolling = roll(Forecaster(Basic()), np.arange(1.0, 11), window=4, horizon=2)
    assert rolling.mean.tolist() == [[3, 4], [5, 6], [7, 8]]
    assert rolling.truth.tolist() == [[5, 6], [7, 8], [9, 10]]


def test_each_forecast_is_made_from_the_window_before_it_alone() -> None:
    forecaster, known = Forecaster(make_model("linear")), series()
    rolling = roll(forecaster, known, window=60, horizon=20)
    for origin, mean in zip(rolling.origins, rolling.mean, strict=True):
        assert np.array_equal(mean, forecaster.forecast(known[origin - 60 : origin], 20).mean)


def test_the_scores_of_a_run_are_those_of_its_steps_its_sums_and_its_bounds() -> None:
    rolling = roll(Forecaster(Basic(), level=0.6), series(), window=60, horizon=20)
    scores, truth = rolling.scores(), rolling.truth
    low, high = (np.array([getattr(each, bound) for each in rolling.forecasts]) for bound in ("low", "high"))
    assert scores.mape == mape(truth, rolling.mean)
    assert scores.interval_mape == mape(truth.sum(axis=1), rolling.mean.sum(axis=1)) != scores.mape
    losses = [pinball(truth, low, 0.2), pinball(truth, rolling.mean, 0.5), pinball(truth, high, 0.8)]
    assert scores.pinball == pytest.approx(sum(losses) / 3)
    assert scores.coverage == coverage(truth, low, high)


def test_scores_are_those_computed_by_hand() -> None:
    assert mape(TRUTH, FORECAST) == pytest.approx((0.2 + 0.25 + 0) / 3)
    assert wape(TRUTH, FORECAST) == pytest.approx(12 / 70)
    assert bias(TRUTH, FORECAST) == pytest.approx(2 / 70)
    assert coverage(TRUTH, FORECAST - 2, FORECAST + 2) == 0.5


def test_shares_of_nothing_are_not_known() -> None:
    assert mape(np.zeros(3), np.ones(3)) is None
    assert wape(np.zeros(3), np.ones(3)) is None


def test_pinball_loss_is_least_at_the_quantile() -> None:
    truth = np.random.default_rng(0).normal(50, 10, 20_000)
    losses = {share: pinball(truth, np.full_like(truth, np.quantile(truth, share)), 0.9) for share in (0.8, 0.9, 0.95)}
    assert min(losses, key=lambda share: losses[share]) == 0.9
    assert pinball(np.array([10.0]), np.array([8.0]), 0.9) == pytest.approx(1.8)
    assert pinball(np.array([8.0]), np.array([10.0]), 0.9) == pytest.approx(0.2)


def test_the_scores_of_a_perfect_forecast_are_perfect() -> None:
    scores = roll(Forecaster(Basic()), np.full(50, 3.0), window=10, horizon=5).scores()
    assert (scores.mape, scores.wape, scores.bias, scores.interval_mape, scores.pinball) == (0, 0, 0, 0, 0)
    assert scores.coverage == 1
    assert scores.fallbacks == {}


def test_fallbacks_are_counted_by_their_reason() -> None:
    with_zeros = np.tile([0.0, 1.0], 30)
    scores = roll(Forecaster(make_model("exponential")), with_zeros, window=20, horizon=10).scores()
    assert scores.fallbacks == {
        "exponential failed (an exponential needs samples above 0, the least is 0): basic instead": 4
    }


def test_a_series_that_is_too_short_is_refused_with_what_would_do() -> None:
    with pytest.raises(ConfigError, match="50 samples are too few for a window of 40 and a horizon of 20"):
        roll(Forecaster(Basic()), np.ones(50), window=40, horizon=20)
    with pytest.raises(ConfigError, match="window 0"):
        roll(Forecaster(Basic()), np.ones(50), window=0)
