"""Histograms of fixed size: every value falls into its bin, and quantiles are within a bin's width."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plants import exponential, one_operator, plant

from rheostat.sim.engine.jit import entry
from rheostat.sim.engine.latency_histogram import BINS, bin_of, edges, quantile


@entry
def bins(values, out):
    for i in range(len(values)):
        out[i] = bin_of(values[i])


def bins_of(values):
    out = np.zeros(len(values), dtype=np.int64)
    bins(np.asarray(values, dtype=float), out)
    return out


@given(st.lists(st.floats(0, 2e5), min_size=1))
def test_a_value_lies_between_the_edges_of_its_bin(values):
    found, borders = bins_of(values), edges()
    inside = (borders[found] <= values) & (np.array(values) < borders[found + 1])
    assert np.all(inside | (found == BINS - 1))


def test_edges_grow_by_a_thirtysecond_of_an_octave_at_most():
    borders = edges()
    assert len(borders) == BINS + 1
    assert np.all(borders[2:] / borders[1:-1] < 1.04)
    assert borders[1] < 1e-6
    assert borders[-1] > 24 * 3600


@given(st.lists(st.floats(1e-5, 1e4), min_size=10, max_size=300), st.floats(0.01, 1.0))
def test_a_quantile_is_that_of_the_values_within_a_bins_width(values, share):
    counts = np.bincount(bins_of(values), minlength=BINS)
    exact = np.sort(values)[int(np.ceil(share * len(values) - 1e-9)) - 1]
    assert quantile(counts, share) == pytest.approx(exact, rel=0.04)


def test_nothing_has_no_quantile():
    assert quantile(np.zeros(BINS, dtype=int), 0.5) is None


def test_a_snapshot_has_the_median_and_the_tail_of_m_m_1():
    it = plant(one_operator(), exponential(0.5), rate=1.0, resolution_s=1000.0)
    it.cluster.advance(4e5)
    seen = it.observe().operators["op"].latency
    assert seen.p50_s == pytest.approx(np.log(2), rel=0.05)
    assert seen.p99_s == pytest.approx(np.log(100), rel=0.06)
    assert seen.scv == pytest.approx(1.0, rel=0.1)
