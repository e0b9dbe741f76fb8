"""The Count-Min guarantees, and the pair of sketches that OSG makes of it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rheostat.errors import ConfigError
from rheostat.grouping import CostSketch, CountMin, Hashes, sketch_hashes
from rheostat.grouping.hashes import PRIME
from rheostat.load.skew import zipf

values = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=200)


def hashes(seed=0, epsilon=0.05, delta=0.05):
    return sketch_hashes(epsilon, delta, np.random.default_rng(seed))


def estimate(sketch, values):
    """What was added to each value: the least of its cells."""
    return sketch.at(values).min(axis=0)


@settings(deadline=None)
@given(values, st.integers(0, 2**32), st.data())
def test_an_estimate_is_never_under_the_sum_of_what_was_added(seen, seed, data):
    amounts = data.draw(st.lists(st.integers(0, 1000), min_size=len(seen), max_size=len(seen)))
    sketch = CountMin(hashes(seed))
    sketch.add(np.array(seen), amounts)
    true = {value: sum(a for v, a in zip(seen, amounts, strict=True) if v == value) for value in seen}
    estimates = estimate(sketch, np.array(list(true)))
    assert np.all(estimates >= np.array(list(true.values())))
    assert sketch.total == sum(amounts)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 0.05), (0.1, 0.2)])
def test_an_estimate_is_over_by_more_than_epsilon_m_with_probability_at_most_delta(epsilon, delta):
    """Over fresh hashes, for each of some values of a Zipf stream; the bound is on each value's own probability."""
    rng = np.random.default_rng(1)
    stream = rng.choice(5000, size=3000, p=zipf(5000, 1.2))
    asked, counts = np.unique(stream, return_counts=True)
    asked, counts = asked[::40], counts[::40]
    trials = 600
    misses = np.zeros(len(asked))
    for seed in range(trials):
        sketch = CountMin(hashes(seed, epsilon, delta))
        sketch.add(stream)
        misses += estimate(sketch, asked) > counts + epsilon * len(stream)
    surely = 1 - 1e-6 / len(asked)
    assert np.all(misses <= stats.binom.ppf(surely, trials, delta))


def test_an_estimate_is_the_least_of_a_values_cells():
    sketch = CountMin(Hashes((1, 1), (0, 0), 10))
    sketch.cells[:, 1] = 5.0, 2.0
    assert estimate(sketch, np.array([1])) == [2.0]


def test_the_bound_holds_where_a_single_row_would_break_it():
    """The hardest stream there is: as many values as can be that each alone are more than ε·m."""
    epsilon, delta, trials = 0.05, 0.05, 3000
    heavy = np.random.default_rng(6).integers(1, PRIME, 19)
    tolerated = epsilon * 100 * len(heavy)
    assert tolerated < 100
    misses = single_misses = 0
    for seed in range(trials):
        sketch = CountMin(hashes(seed, epsilon, delta))
        sketch.add(heavy, 100.0)
        misses += estimate(sketch, np.array([0]))[0] > tolerated
        single_misses += sketch.at(np.array([0]))[0, 0] > tolerated
    most = stats.binom.ppf(1 - 1e-6, trials, delta)
    assert misses <= most < single_misses


def test_the_sketch_is_as_large_as_the_paper_says():
    made = hashes(epsilon=0.05, delta=0.05)
    assert (made.rows, made.columns) == (math.ceil(math.log(20)), math.ceil(math.e / 0.05)) == (3, 55)


@pytest.mark.parametrize("bad", [0, 1, -0.1, math.nan])
def test_a_precision_that_means_nothing_is_refused(bad):
    with pytest.raises(ConfigError, match=r"epsilon .* must lie between 0 and 1"):
        hashes(epsilon=bad)
    with pytest.raises(ConfigError, match=r"delta .* must lie between 0 and 1"):
        hashes(delta=bad)


def test_two_values_collide_no_more_often_than_in_one_of_c_functions():
    """2-universality, by counting over many drawn functions, for pairs that differ in one bit, few or many."""
    columns, functions = 55, 40_000
    drawn = Hashes.drawn(functions, columns, np.random.default_rng(2))
    pairs = [(0, 1), (7, 8), (1, PRIME - 1), (12345, 12345 + columns), (2**20, 2**30)]
    for one, other in pairs:
        cells = drawn.columns_of(np.array([one, other]))
        collisions = int((cells[:, 0] == cells[:, 1]).sum())
        assert collisions <= stats.binom.ppf(1 - 1e-7, functions, 1 / columns)


def test_values_that_share_no_cell_cost_exactly_their_mean():
    sketch = CostSketch(Hashes((1,), (0,), 10))
    sketch.learn(np.array([1, 1, 2]), [0.2, 0.4, 1.0])
    assert sketch.seconds(np.array([1, 2])) == pytest.approx([0.3, 1.0])
    assert sketch.mean_s == pytest.approx(1.6 / 3)


def test_the_cost_is_read_where_the_value_was_counted_least():
    """In row 0 values 1 and 11 share a cell, in row 1 value 1 is alone."""
    sketch = CostSketch(Hashes((1, 1), (0, 0), 10))
    sketch.counts.cells[:, 1] = 5.0, 2.0
    sketch.times_s.cells[:, 1] = 50.0, 4.0
    assert sketch.seconds(np.array([1])) == [2.0]


def test_a_value_never_seen_costs_the_mean_and_an_empty_sketch_knows_none():
    sketch = CostSketch(Hashes((1,), (0,), 10))
    assert sketch.seconds(np.array([5])) == [0.0]
    sketch.learn(np.array([1, 2]), [1.0, 3.0])
    assert sketch.seconds(np.array([5])) == [2.0]


def test_merged_sketches_are_the_sketch_of_everything():
    rng = np.random.default_rng(3)
    same = hashes()
    seen, times = rng.integers(0, 1000, 500), rng.random(500)
    parts = [CostSketch(same), CostSketch(same)]
    parts[0].learn(seen[:200], times[:200])
    parts[1].learn(seen[200:], times[200:])
    whole = CostSketch(same)
    whole.learn(seen, times)
    merged = parts[0].merged(parts[1])
    assert merged.counts.cells == pytest.approx(whole.counts.cells)
    assert merged.seconds(seen) == pytest.approx(whole.seconds(seen))


def test_sketches_of_other_hashes_are_not_merged():
    with pytest.raises(ConfigError, match="different hashes"):
        CostSketch(hashes(1)).merged(CostSketch(hashes(2)))
