"""What changes cost: batches while executors start, and the first ones with a new executor."""

import pytest

from rheostat.experiments.calibration.change_fit import ChangedBatch, cost_while_starting, first_batch


def batch(excess_s=0.0, *, in_start=False, at_change=False):
    return ChangedBatch(excess_s, 0.5, in_start, at_change)


def test_batches_during_starts_show_the_factor():
    batches = [batch(), *[batch(0.5, in_start=True)] * 6, batch(9.0, in_start=True, at_change=True)]
    assert cost_while_starting(batches) == pytest.approx(2.0)


def test_too_few_batches_show_nothing():
    assert cost_while_starting([batch(0.5, in_start=True)] * 3) is None


def test_starts_never_make_batches_cheaper():
    assert cost_while_starting([batch(-0.2, in_start=True)] * 6) == 1.0


def test_the_batches_at_one_change_count_together():
    batches = [batch(), batch(1.5, at_change=True), batch(0.5, at_change=True), batch(), batch(4.0, at_change=True)]
    found = first_batch(batches, None)
    assert found is not None
    assert found.value == pytest.approx(3.0)


def test_what_starts_cost_is_not_counted_twice():
    found = first_batch([batch(1.5, in_start=True, at_change=True)], 2.0)
    assert found is not None
    assert found.value == pytest.approx(1.0)


def test_without_a_change_there_is_no_first_batch():
    assert first_batch([batch(1.0)], None) is None
