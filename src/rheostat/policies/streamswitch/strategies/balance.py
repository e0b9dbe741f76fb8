"""Rebalancing and scale-out: which substreams leave an overloaded executor, and where they go (Algorithm 2, corrected).

One sort of the source's substreams, then O(log |K_s|) for a scale-out and O(N log |K_s|) for a rebalancing.
"""

from collections.abc import Sequence

from rheostat.policies.streamswitch.model.capacity import Stress
from rheostat.policies.streamswitch.model.executor import ExecutorModel
from rheostat.policies.streamswitch.strategies.leaving_order import LeavingSubstreams
from rheostat.policies.streamswitch.strategies.strategy import Strategy

_NO_STRESS: Stress = (0.0, 0.0)


def balance(executors: Sequence[ExecutorModel], source: ExecutorModel) -> Strategy | None:
    """The substreams of `source`, and the executor they go to, for which the worst projected latency of all
    executors is least (then that of the two, then the first target).

    None when nothing improves: both executors must be better off than `source` is now.
    """
    leaving = LeavingSubstreams(source)
    others = _Worst(executors, source)
    best: tuple[Stress, Stress] | None = None
    chosen: Strategy | None = None
    for target in executors:
        if target.id == source.id or (prefix := leaving.best_for(target.capacity, target.arrival_rate)) is None:
            continue
        outcome = max(prefix.worst, others.without(target)), prefix.worst
        if prefix.worst < source.stress and (best is None or outcome < best):
            best = outcome
            chosen = Strategy.of(leaving.order[: prefix.length], source.id, target.id)
    return chosen


def scale_out(source: ExecutorModel, new: int) -> Strategy | None:
    """The substreams of `source` that go to a new executor, number `new`, taken to be as fast; None when that
    does not help."""
    leaving = LeavingSubstreams(source)
    prefix = leaving.best_for(source.capacity)
    if prefix is None or prefix.worst >= source.stress:
        return None
    return Strategy.of(leaving.order[: prefix.length], source.id, new)


class _Worst:
    """The worst stress of all executors but the source and one other, found without a pass over all of them."""

    def __init__(self, executors: Sequence[ExecutorModel], source: ExecutorModel) -> None:
        stresses = sorted(((each.stress, each.id) for each in executors if each.id != source.id), reverse=True)
        self._two = stresses[:2]

    def without(self, target: ExecutorModel) -> Stress:
        return next((stress for stress, number in self._two if number != target.id), _NO_STRESS)
