"""Shares of substreams, and the spread of them over executors."""

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
