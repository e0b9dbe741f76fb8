"""The simulator's own random numbers against scipy's distributions, and its generator against its definition."""

import numpy as np
import pytest
from scipy import stats

from rheostat.sim.engine import draw
from rheostat.sim.engine import random_numbers as randomness
from rheostat.sim.engine.jit import addressed, entry
from rheostat.sim.engine.random_numbers import ARRIVALS, SERVICE
from rheostat.sim.engine.tables.memory import Sizes, allocate
from rheostat.sim.engine.tables.state import tables_at

UNIFORM, EXPONENTIAL, NORMAL, GAMMA, POISSON, VALUE = range(6)
UNLIKELY = 1e-5
COUNT = 300_000


@entry
def fill(tables, stream, kind, parameter, out):
    s = tables_at(tables)
    for i in range(len(out)):
        if kind == UNIFORM:
            out[i] = randomness.uniform(s, stream)
        elif kind == EXPONENTIAL:
            out[i] = randomness.exponential(s, stream)
        elif kind == NORMAL:
            out[i] = randomness.normal(s, stream)
        elif kind == GAMMA:
            out[i] = randomness.gamma(s, stream, parameter)
        elif kind == POISSON:
            out[i] = randomness.poisson(s, stream, parameter)
        else:
            out[i] = draw.value_from(s, stream, 0)


def new_state(seed=7, **sizes):
    neutral = dict.fromkeys(("operators", "sources", "edges", "substreams", "nodes", "distributions", "aliases"), 1)
    state = allocate(Sizes(**{**neutral, "costs": 1, **sizes}))
    randomness.seed(state, np.random.default_rng(seed))
    return state


def sample(kind, parameter=0.0, count=COUNT, stream=SERVICE, state=None):
    state = new_state() if state is None else state
    out = np.zeros(count)
    fill(addressed(state), stream, kind, float(parameter), out)
    return out


@pytest.mark.parametrize(
    ("kind", "parameter", "distribution"),
    [
        (UNIFORM, 0, stats.uniform()),
        (EXPONENTIAL, 0, stats.expon()),
        (NORMAL, 0, stats.norm()),
        (GAMMA, 0.1, stats.gamma(0.1)),
        (GAMMA, 0.5, stats.gamma(0.5)),
        (GAMMA, 1.0, stats.gamma(1.0)),
        (GAMMA, 4.0, stats.gamma(4.0)),
        (GAMMA, 50.0, stats.gamma(50.0)),
    ],
)
def test_numbers_follow_their_distribution(kind, parameter, distribution):
    found = sample(kind, parameter)
    assert stats.kstest(found, distribution.cdf).pvalue > UNLIKELY


@pytest.mark.parametrize("mean", [0.0, 0.3, 2.0, 15.0])
def test_poisson_numbers_follow_their_distribution(mean):
    found = np.bincount(sample(POISSON, mean).astype(int))
    expected = stats.poisson.pmf(np.arange(len(found)), mean) * COUNT
    likely = expected >= 5
    statistic = ((found - expected) ** 2)[likely] / expected[likely]
    assert stats.chi2.sf(statistic.sum(), max(likely.sum() - 1, 1)) > UNLIKELY


def test_uniform_numbers_are_at_least_zero_and_less_than_one_in_all_bits():
    found = sample(UNIFORM)
    assert 0 <= found.min() < 1e-4
    assert 1 - 1e-4 < found.max() < 1
    bits = (found * 2**53).astype(np.int64)[:, None] >> np.arange(53) & 1
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(COUNT)


def test_numbers_that_follow_each_other_are_not_related():
    found = sample(UNIFORM)
    for lag in (1, 2, 3, 10):
        assert abs(np.corrcoef(found[:-lag], found[lag:])[0, 1]) < 5 / np.sqrt(COUNT)


def test_arrivals_and_service_draw_from_different_streams_that_do_not_disturb_each_other():
    state = new_state()
    first = sample(UNIFORM, count=1000, stream=ARRIVALS, state=state)
    sample(UNIFORM, count=777, stream=SERVICE, state=state)
    second = sample(UNIFORM, count=1000, stream=ARRIVALS, state=state)
    whole = sample(UNIFORM, count=2000, stream=ARRIVALS)
    assert np.array_equal(np.concatenate([first, second]), whole)
    assert not np.intersect1d(whole, sample(UNIFORM, count=2000, stream=SERVICE)).size


def test_the_generator_is_xoshiro256_plus_plus():
    """Against a second writing of it in whole numbers."""
    state = new_state()
    words = [int(word) % 2**64 for word in state.chance.word[4:8]]

    def rotated(word, by):
        return (word << by | word >> (64 - by)) % 2**64

    def following():
        result = (rotated((words[0] + words[3]) % 2**64, 23) + words[0]) % 2**64
        shifted = words[1] << 17 & 2**64 - 1
        words[2] ^= words[0]
        words[3] ^= words[1]
        words[1] ^= words[2]
        words[0] ^= words[3]
        words[2] ^= shifted
        words[3] = rotated(words[3], 45)
        return (result >> 11) / 2**53

    assert sample(UNIFORM, count=500, state=state).tolist() == [following() for _ in range(500)]


def test_values_are_drawn_by_their_weights():
    weights = np.array([10.0, 0.0, 1.0, 3.0, 0.001, 7.0, 2.0])
    state = new_state(aliases=len(weights))
    state.values[0].start, state.values[0].length = 0, len(weights)
    state.alias.probability, state.alias.other = draw.alias_table(weights)
    found = np.bincount(sample(VALUE, state=state).astype(int), minlength=len(weights))
    expected = weights / weights.sum() * COUNT
    assert found[1] == 0
    kept = expected > 0
    assert stats.chi2.sf((((found - expected) ** 2)[kept] / expected[kept]).sum(), kept.sum() - 1) > UNLIKELY


def test_one_value_needs_no_choice():
    state = new_state()
    state.values[0].length = 1
    assert sample(VALUE, count=100, state=state).tolist() == [0.0] * 100
