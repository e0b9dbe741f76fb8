"""How records enter: regular, Poisson, renewal, in bursts, at rates that change, with skewed and rotating values."""

import math

import numpy as np
import pytest
from intervals import batch_means, interval
from plants import fixed, keyed, one_operator, plant, row
from scipy import stats

from rheostat.errors import ConfigError
from rheostat.load import Constant, Ramp, Sine, Spike, Step
from rheostat.load.skew import folded, hot_set, rotated, table, zipf
from rheostat.sim.model import Bursts, SourceModel
from rheostat.topology import Operator, Source, Topology

FREE = fixed(1e-9, executors=1)
UNLIKELY = 1e-5


def arrivals(rate, scv=1.0, **more):
    return plant(one_operator(), FREE, rate=rate, scv=scv, **more)


def counts(it, every_s, intervals):
    """Arrivals in each of the next intervals."""
    totals = [int(row(it).arrived)]
    for _ in range(intervals):
        it.cluster.advance(it.cluster.now_s + every_s)
        totals.append(int(row(it).arrived))
    return np.diff(totals)


def gap_scv(it, customers, rate):
    """The squared coefficient of variation of the gaps, as an interval over batches."""
    last = np.zeros(3)
    values = []
    for _ in range(20):
        it.cluster.advance(it.cluster.now_s + customers / 20 / rate)
        now = np.array([row(it).gap_count, row(it).gap_sum, row(it).gap_squares], dtype=float)
        count, total, squares = now - last
        values.append(squares / count / (total / count) ** 2 - 1)
        last = now
    return interval(values)


def test_regular_arrivals_come_at_equal_gaps():
    it = arrivals(8.0, scv=0)
    it.cluster.advance(100.05)
    assert row(it).arrived == 800
    assert row(it).gap_squares == pytest.approx(799 / 64)


@pytest.mark.parametrize("scv", [0.2, 0.5, 1.0, 3.0])
def test_renewal_arrivals_have_the_rate_and_the_variation_that_they_are_given(scv):
    it = arrivals(1000.0, scv=scv)
    found = gap_scv(it, 1e6, 1000.0)
    assert scv in found
    assert found.relative < 0.05
    assert row(it).arrived == pytest.approx(1e6, abs=5 * 1000 * math.sqrt(scv))


def test_poisson_arrivals_are_as_many_as_poisson_says_in_every_interval():
    found = counts(arrivals(50.0), 1.0, 4000)
    observed = np.bincount(np.clip(found, 25, 75) - 25, minlength=51)
    probabilities = stats.poisson.pmf(np.arange(25, 76), 50)
    probabilities[0], probabilities[-1] = stats.poisson.cdf(25, 50), stats.poisson.sf(74, 50)
    large = probabilities * 4000 >= 5
    statistic = ((observed - 4000 * probabilities) ** 2 / (4000 * probabilities))[large].sum()
    assert stats.chi2.sf(statistic, large.sum()) > UNLIKELY


BURSTS = Bursts(factor=10.0, calm="3s", burst="500ms")


def test_bursts_keep_the_mean_rate():
    def rate(plant):
        return float(row(plant).arrived), plant.cluster.now_s

    found = batch_means(arrivals(100.0, bursts=BURSTS, resolution_s=10.0), {"rate": rate}, 1000.0)["rate"]
    assert 100.0 in found
    assert found.relative < 0.05


def test_gaps_in_bursts_vary_as_the_theory_of_the_mmpp_says():
    """Heffes and Lucantoni: with rates λ₁, λ₂ and r₁, r₂ for leaving a state."""
    calm, burst = (100.0 * factor for factor in BURSTS.factors())
    r1, r2 = 1 / 3, 1 / 0.5
    exact = 1 + 2 * r1 * r2 * (calm - burst) ** 2 / ((r1 + r2) ** 2 * (calm * burst + calm * r2 + burst * r1))
    found = gap_scv(arrivals(100.0, bursts=BURSTS, resolution_s=10.0), 2e6, 100.0)
    assert exact in found
    assert found.relative < 0.1


def test_counts_in_bursts_are_dispersed_as_the_theory_of_the_mmpp_says():
    calm, burst = (20.0 * factor for factor in BURSTS.factors())
    r1, r2 = 1 / 3, 1 / 0.5
    exact = 1 + 2 * (calm - burst) ** 2 * r1 * r2 / ((r1 + r2) ** 2 * (calm * r2 + burst * r1))
    every_s = 100.0
    edge = 1 - 1 / ((r1 + r2) * every_s)  # what an interval of finite length misses of the limit
    found = counts(arrivals(20.0, bursts=BURSTS, resolution_s=10.0), every_s, 2000)
    dispersion = found.var(ddof=1) / found.mean()
    spread = math.sqrt(2 / 1999) * stats.norm.isf(UNLIKELY / 2)
    assert dispersion == pytest.approx(1 + (exact - 1) * edge, rel=spread * 1.2)


def test_a_burst_model_is_calm_and_bursting_for_the_times_it_is_given():
    calm, burst = BURSTS.factors()
    assert burst == 10 * calm
    assert 3 * calm + 0.5 * burst == pytest.approx(3.5)


@pytest.mark.parametrize(
    "shape",
    [
        Sine(base=200, amplitude=150, period="7s"),
        Step([(0, 300), (4, 20), (9.5, 500)]),
        Ramp(from_rate=0, to_rate=400, duration="20s"),
        Spike(base=50, factor=20, at="5s", duration="1s", decay="2s"),
        Sine(base=100, amplitude=100, period="3s") + Constant(10),
    ],
)
def test_counts_follow_the_integral_of_a_changing_rate(shape):
    found = counts(arrivals(shape), 0.5, 60)
    fine = (np.arange(60 * 500) + 0.5) / 1000
    expected = shape.rates(fine).reshape(60, 500).mean(axis=1) * 0.5
    seen = expected > 0.5
    statistic = ((found - expected) ** 2 / np.maximum(expected, 0.5))[seen].sum()
    assert UNLIKELY < stats.chi2.cdf(statistic, seen.sum()) < 1 - UNLIKELY
    assert found.sum() == pytest.approx(expected.sum(), abs=5 * math.sqrt(expected.sum()))


def test_regular_arrivals_at_a_changing_rate_are_the_integral_rounded_down():
    shape = Sine(base=20, amplitude=20, period="10s")
    it = arrivals(shape, scv=0, resolution_s=0.01)
    for time_s in (3.0, 7.5, 12.5, 30.0):
        it.cluster.advance(time_s)
        assert abs(row(it).arrived - shape.mean(time_s) * time_s) <= 1.01


def test_nothing_comes_at_rate_zero_and_the_source_wakes_when_the_rate_does():
    it = arrivals(Step([(0, 0.0), (1000, 10.0)]))
    it.cluster.advance(1000.0)
    assert row(it).arrived == 0
    it.cluster.advance(1100.0)
    assert row(it).arrived == pytest.approx(1000, abs=5 * math.sqrt(1000))


def test_the_resolution_of_the_rate_does_not_change_the_mean():
    shape = Sine(base=500, amplitude=400, period="5s")
    totals = [counts(arrivals(shape, resolution_s=width_s), 100.0, 1)[0] for width_s in (0.01, 0.1, 0.5)]
    assert max(totals) - min(totals) < 5 * math.sqrt(2 * 50_000)


def shares(it, records):
    it.cluster.advance(it.cluster.now_s + records / 1000.0)
    return it.cluster.state.substreams.arrived.copy()


@pytest.mark.parametrize(
    "weights", [zipf(1000, 1.2), zipf(50, 0.5), table([5, 1, 0, 3]), hot_set(100, 0.05, 0.8)], ids=lambda w: str(len(w))
)
def test_substreams_get_the_shares_that_their_keys_weigh(weights):
    it = plant(keyed(16), fixed(1e-9), rate=1000.0, weights=weights)
    found = shares(it, 200_000)
    expected = folded(weights, 16) * found.sum()
    assert np.all(found[expected == 0] == 0)
    kept = expected > 0
    statistic = ((found - expected) ** 2)[kept] / expected[kept]
    assert stats.chi2.sf(statistic.sum(), kept.sum() - 1) > UNLIKELY


def test_hot_keys_rotate():
    weights = zipf(8, 2.0)
    it = plant(keyed(8), fixed(1e-9), rate=1000.0, weights=weights, rotate_every_s=100.0, rotate_by=3)
    before = np.zeros(8)
    for turn in range(4):
        now = shares(it, 100_000)
        found, before = now - before, now
        expected = rotated(weights, 3 * turn) * found.sum()
        assert stats.chi2.sf(((found - expected) ** 2 / expected).sum(), 7) > UNLIKELY


def test_a_source_of_negative_variation_is_refused_with_its_value():
    with pytest.raises(ConfigError, match=r"arrival scv -0\.5 must be a number >= 0"):
        SourceModel(scv=-0.5)


def test_two_sources_are_independent_and_both_counted():
    topology = Topology("two", [Source("left"), Source("right"), Operator("op", inputs=("left", "right"))])
    it = plant(topology, FREE, rate=100.0)
    found = gap_scv(it, 4e5, 200.0)
    assert 1.0 in found
    assert it.cluster.state.world[0].entered == row(it).arrived
    rows = {stream.name: stream.rows for stream in it.observe().streams}
    assert rows["left"] == pytest.approx(rows["right"], abs=5 * math.sqrt(rows["left"] * 2))


def test_a_source_hands_records_over_in_batches_which_they_wait_for():
    """Half a batch until the next one begins, and then a whole one; what is served at once has no other latency."""
    it = arrivals(200.0, batch_s=2.0)
    assert list(counts(it, 2.0, 4)) == [0, *counts(arrivals(200.0), 2.0, 3)]
    it.cluster.advance(400.0)
    world = it.cluster.state.world[0]
    assert world.latency_sum / world.left == pytest.approx(3.0, rel=0.02)


def test_the_variation_of_arrivals_in_batches_is_that_of_their_entry():
    it = arrivals(200.0, batch_s=2.0)
    assert 1.0 in gap_scv(it, 4e5, 200.0)
