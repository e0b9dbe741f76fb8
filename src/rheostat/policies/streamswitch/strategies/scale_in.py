"""Scale-in: which executor leaves, and which one takes its substreams (Algorithm 1, whose listing the paper omits).

All ordered pairs (s, d) are looked at: s leaves and d takes all its substreams. Of the remaining executors' projected
latencies, sorted in descending order, the lexicographically smallest wins, the first pair on ties.

A pair changes only three entries of that order: it takes out L_s and L_d and puts in L_d(λ_s + λ_d). Two orders compare
as their largest different entry does, so those three entries, in descending order and with a minus where one is taken
out, compare like the whole: N² pairs need no more than three comparisons each, and are compared as arrays.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rheostat.policies.streamswitch.model.executor import ExecutorModel
from rheostat.policies.streamswitch.strategies.strategy import Strategy

Floats = NDArray[np.float64]
Change = tuple[Floats, Floats, Floats]

_PAIRS_AT_ONCE = 1_000_000


def scale_in(executors: Sequence[ExecutorModel], sources: Collection[int] | None = None) -> Strategy | None:
    """The best pair, with the source among `sources` if they are given; None when there is no such pair."""
    rows = [n for n, each in enumerate(executors) if sources is None or each.id in sources]
    if len(executors) < 2 or not rows:
        return None
    best = min(_best_of_each_block(executors, np.array(rows)))
    source, target = executors[best[-2]], executors[best[-1]]
    return Strategy.of(source.substreams, source.id, target.id, source_leaves=True)


def _best_of_each_block(
    executors: Sequence[ExecutorModel], rows: NDArray[np.int64]
) -> Iterator[tuple[float, float, float, int, int]]:
    """The change of the best pair and its two positions, for as many sources at a time as fit into memory."""
    latencies_s = np.array([each.projected_s for each in executors])
    block = max(1, _PAIRS_AT_ONCE // len(executors))
    for start in range(0, rows.size, block):
        chosen = rows[start : start + block]
        change = _changes(latencies_s[chosen, None], latencies_s, _together_s(executors, chosen))
        for entry in change:
            entry[np.arange(chosen.size), chosen] = np.inf  # no executor takes over from itself
        row, target = divmod(_first_least(change), len(executors))
        first, second, third = (float(entry[row, target]) for entry in change)
        yield first, second, third, int(chosen[row]), target


def _together_s(executors: Sequence[ExecutorModel], rows: NDArray[np.int64]) -> Floats:
    """L_d(λ_s + λ_d): a row for each source, a column for each target."""
    capacities = [each.capacity for each in executors]
    loads = np.array([each.arrival_rate for each in executors])
    both = loads[rows, None] + loads
    spare = np.array([each.trusted_rate for each in capacities]) - both
    latencies_s = np.full(spare.shape, np.inf)
    np.divide(np.array([each.numerator for each in capacities]), spare, out=latencies_s, where=spare > 0.0)
    one_by_one = np.array([each.batch_cost_s is None for each in capacities])
    return np.where((both <= 0.0) & one_by_one, 0.0, latencies_s)


def _changes(source: Floats, target: Floats, together: Floats) -> Change:
    """What each pair does to the descending order of all latencies; entries that cancel are left out."""
    source, target = np.broadcast_arrays(source, target)
    cancels = (together == target) | (together == source)
    worse = together > source
    first = np.where(together == target, -source, np.where(worse, together, np.where(cancels, -target, -source)))
    second = np.where(cancels, 0.0, np.where(worse, -np.maximum(source, target), together))
    third = np.where(cancels, 0.0, np.where(worse, -np.minimum(source, target), -target))
    return first, second, third


def _first_least(change: Change) -> int:
    """The position, row by row, of the first lexicographically smallest change."""
    left = np.arange(change[0].size)
    for entry in change:
        values = entry.ravel()[left]
        left = left[values == values.min()]
    return int(left[0])
