"""Shares of substreams, and the spread of them over executors."""

import numpy as np
import pytest

from rheostat.policies.rheostat.substream_shares import SubstreamShares
from rheostat.snapshot import SubstreamState


def shares_of(loads):
    shares = SubstreamShares()
    for turn in (0, 1):
        shares.update(2.0 * turn, [SubstreamState("count", i, 0, arrived=turn * load) for i, load in enumerate(loads)])
    return shares


def test_the_busiest_executor_is_compared_with_the_mean():
    shares = shares_of([60, 10, 10, 20])
    assert shares.stretch([0, 0, 1, 1], 2) == pytest.approx(70 / 50)
    assert shares.balanced_stretch(2) == pytest.approx(60 / 50)
    assert shares.balanced_stretch(4) == pytest.approx(60 / 25)


def test_without_arrivals_all_substreams_are_alike():
    assert (shares_of([0, 0]).stretch([0, 0], 2), shares_of([0, 0]).balanced_stretch(2)) == (1.0, 1.0)


def test_transfers_lead_to_an_even_spread():
    shares = shares_of([60, 40, 50, 50])
    [transfer] = shares.transfers([0, 0, 0, 1], [0, 1])
    owners = [0, 0, 0, 1]
    for index in transfer.substreams:
        assert owners[index] == transfer.source
        owners[index] = transfer.target
    assert shares.stretch(owners, 2) <= 1.1


def test_a_missing_or_fallen_counter_teaches_nothing():
    shares = shares_of([30, 10])
    shares.update(4.0, [SubstreamState("count", 0, 0, arrived=None), SubstreamState("count", 1, 0, arrived=50)])
    assert shares.loads == (30.0, 10.0)
    shares.update(6.0, [SubstreamState("count", 0, 0, arrived=5), SubstreamState("count", 1, 0, arrived=5)])
    assert shares.loads == (30.0, 10.0)


def test_shares_that_do_not_change_are_measured_over_a_long_time():
    rng, shares = np.random.default_rng(2), SubstreamShares()
    counters, weights = np.zeros(32), np.arange(1, 33) / sum(range(1, 33))
    shortest = np.inf
    for turn in range(2 * 1800):
        counters += rng.multinomial(rng.poisson(110), weights)
        shares.update(2.0 * turn, [SubstreamState("count", i, 0, arrived=int(n)) for i, n in enumerate(counters)])
        if turn > 300:
            shortest = min(shortest, sum(shares.loads))
    assert shortest > 0.9 * 200 * 110


def test_hot_keys_that_change_are_seen_within_some_turns():
    rng, shares = np.random.default_rng(3), SubstreamShares()
    counters, weights = np.zeros(8), np.array([0.3, *[0.1] * 7])
    for turn in range(200):
        counters += rng.multinomial(100, weights if turn < 190 else weights[::-1])
        shares.update(2.0 * turn, [SubstreamState("count", i, 0, arrived=int(n)) for i, n in enumerate(counters)])
    assert shares.loads[-1] > 1.5 * shares.loads[0]
