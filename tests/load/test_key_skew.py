"""Skew: the shares of keys and substreams."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rheostat.errors import LoadError
from rheostat.load import skew

RECORDED = Path(__file__).parents[2].parent / "shared" / "traces"

keys = st.integers(1, 500)
skews = st.one_of(
    st.builds(skew.uniform, keys),
    st.builds(skew.zipf, keys, st.floats(0, 50)),
    st.builds(skew.hot_set, st.integers(2, 500), st.floats(0, 0.4), st.floats(0, 1)),
    st.builds(skew.limit_orders, keys),
    st.builds(skew.table, st.lists(st.floats(0.001, 1e6), min_size=1, max_size=50)),
)


@given(skews)
def test_weights_are_shares_that_sum_to_one(weights):
    assert weights.dtype == np.float64
    assert np.all(weights >= 0)
    assert weights.sum() == pytest.approx(1)


@given(skews, st.integers(-1000, 1000))
def test_rotation_makes_other_keys_hot_with_the_same_shares(weights, by):
    turned = skew.rotated(weights, by)
    assert turned[by % len(weights)] == weights[0]
    assert sorted(turned) == sorted(weights)
    np.testing.assert_array_equal(skew.rotated(turned, -by), weights)


@given(skews, st.integers(1, 70))
def test_folding_adds_up_the_keys_of_each_substream(weights, substreams):
    folded = skew.folded(weights, substreams)
    assert len(folded) == substreams
    np.testing.assert_allclose(folded, [weights[home::substreams].sum() for home in range(substreams)])


@pytest.mark.parametrize("exponent", [0.5, 1, 1.5, 3])
def test_zipf_agrees_with_scipy(exponent):
    expected = stats.zipfian(exponent, 100).pmf(np.arange(1, 101))
    np.testing.assert_allclose(skew.zipf(100, exponent), expected, rtol=1e-10)


def test_zipf_with_exponent_zero_is_uniform():
    np.testing.assert_allclose(skew.zipf(7, 0), skew.uniform(7))


def test_a_hot_set_carries_what_it_is_given():
    weights = skew.hot_set(100, fraction=0.05, load=0.6)
    assert weights[:5].sum() == pytest.approx(0.6)
    assert len(set(weights[:5])) == len(set(weights[5:])) == 1


def test_limit_orders_are_as_skewed_as_the_paper_says():
    """StreamSwitch §6: the top 1 % (11 stocks) and the heaviest have more than 10 % and 2 %."""
    orders = skew.limit_orders()
    assert len(orders) == 1156
    assert 0.02 < orders.max() < 0.025
    assert 0.10 < np.sort(orders)[-11:].sum() < 0.12


def test_a_table_of_counts_is_read_from_a_file_in_any_order(tmp_path):
    path = tmp_path / "skew.csv"
    path.write_text("substream,count\n2,50\n0,20\n1,30\n")
    assert skew.from_csv(path).tolist() == [0.2, 0.3, 0.5]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("0,1\n2,1\n", "line 3: substream '2' is not a whole number from 0 to 1"),
        ("-1,1\n", "line 2: substream '-1' is not a whole number from 0 to 0"),
        ("a,1\n", "line 2: substream 'a' is not a whole number"),
        ("²,1\n", "line 2: substream '²' is not a whole number"),
        ("0,1\n0,1\n", "line 3: substream '0' is not new: list each one once"),
        ("0,-1\n", "line 2: count '-1' is not a finite number >= 0"),
        ("0,x\n", "line 2: count 'x' is not a finite number >= 0"),
        ("0,0\n1,0\n", "counts nothing: all its counts are 0"),
        ("", "has no rows below its header"),
    ],
)
def test_a_malformed_table_is_refused_with_file_line_and_value(tmp_path, rows, message):
    path = tmp_path / "skew.csv"
    path.write_text("substream,count\n" + rows)
    with pytest.raises(LoadError, match=message) as refused:
        skew.from_csv(path)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: skew.uniform(0), "keys 0 is not a whole number >= 1"),
        (lambda: skew.uniform(2.5), "keys 2.5 is not a whole number >= 1"),
        (lambda: skew.zipf(10, -1), "exponent -1 is not a finite number >= 0"),
        (lambda: skew.zipf(True, 1), "keys True is not a whole number"),
        (lambda: skew.hot_set(1, 0.1, 0.5), "keys 1 is not a whole number >= 2"),
        (lambda: skew.hot_set(10, 1, 0.5), "fraction 1 makes all 10 keys hot"),
        (lambda: skew.hot_set(10, 2, 0.5), "fraction 2 is not a share"),
        (lambda: skew.hot_set(10, 0.1, 1.5), "load 1.5 is not a share: give a number from 0 to 1"),
        (lambda: skew.table([]), "is not a list with at least one entry"),
        (lambda: skew.table([1, -2]), "weights has -2"),
        (lambda: skew.table([0, 0]), "cannot be made to sum to 1: their sum is 0"),
        (lambda: skew.rotated(skew.uniform(3), 0.5), "by 0.5 is not a whole number"),
        (lambda: skew.folded(skew.uniform(3), 0), "substreams 0 is not a whole number >= 1"),
    ],
)
def test_what_gives_no_shares_is_refused_with_its_value(make, message):
    with pytest.raises(LoadError, match=message):
        make()


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded traces are not here")
def test_the_recorded_substreams_are_read():
    weights = skew.from_csv(RECORDED / "skew-64-substreams.csv")
    assert len(weights) == 64
    assert weights.sum() == pytest.approx(1)
    assert weights[0] == pytest.approx(2954 / 426637)
    assert weights.max() == pytest.approx(0.0311904, rel=1e-4)
