"""Change fit: what executors that start or join, and substreams that move, cost the batches that run meanwhile."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rheostat.experiments.calibration.batch_fit import Estimate
from rheostat.experiments.replicate import mean_of

_ENOUGH = 4
"""Batches during starts before anything is said about them."""


class ChangedBatch(NamedTuple):
    """A batch that took `excess_s` longer than the fit says; `cost_s` is what it should cost beside its work.

    `in_start`: executors were starting all the time. `at_change`: executors joined or substreams moved during it or
    right before it.
    """

    excess_s: float
    cost_s: float
    in_start: bool
    at_change: bool


def cost_while_starting(batches: Sequence[ChangedBatch]) -> float | None:
    """How many times as much batches cost while executors start; None if there were too few."""
    during = [batch for batch in batches if batch.in_start and not batch.at_change]
    cost_s = sum(batch.cost_s for batch in during)
    if len(during) < _ENOUGH or cost_s <= 0:
        return None
    return max(1.0, 1.0 + sum(batch.excess_s for batch in during) / cost_s)


def first_batch(batches: Sequence[ChangedBatch], while_starting: float | None) -> Estimate | None:
    """How much longer the batches at a change took together, beyond what they cost while executors start.

    It is not known which of two batches that follow each other was the first one with a new executor.
    """
    factor = (while_starting or 1.0) - 1.0
    extra_s = [
        max(0.0, sum(batch.excess_s - (factor * batch.cost_s if batch.in_start else 0.0) for batch in group))
        for at_change, group in groupby(batches, key=lambda batch: batch.at_change)
        if at_change
    ]
    if not extra_s:
        return None
    mean = mean_of(extra_s)
    return Estimate(mean.mean, mean.half_width)
