"""Leaving order: which substreams leave an overloaded executor (StreamSwitch, FindOptimalSubstreams).

The order is fixed: a move pauses substreams, and those with the least latency go first. What is chosen is how many.
The more leave, the better for the source and the worse for the target: the larger of the two projected latencies is
least where they cross, and a binary search finds that.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from rheostat.policies.streamswitch.model.capacity import Capacity, Stress
from rheostat.policies.streamswitch.model.executor import ExecutorModel, Substream


class Prefix(NamedTuple):
    """The first `length` substreams of the order leave; `worst` is the larger of the two stresses then."""

    worst: Stress
    length: int


class LeavingSubstreams:
    """The substreams of `source` in the order in which they would leave, with the loads that go and stay: sorted
    once, then O(log |K_s|) for each target."""

    def __init__(self, source: ExecutorModel) -> None:
        self.source = source
        self.order = leaving_order(source.substreams)
        rates = [substream.arrival_rate for substream in self.order]
        self._gone = [0.0, *accumulate(rates)]
        self._left = [*accumulate(reversed(rates), initial=0.0)][::-1]

    def best_for(self, target: Capacity, load: float = 0.0) -> Prefix | None:
        """How many go to a target that has `load` already, the fewest on ties; None when fewer than two are there
        (to move all of them would be a scale-in)."""
        counts = range(1, len(self.order))
        if not counts:
            return None
        crossing = 1 + bisect_left(counts, True, key=lambda n: self._source(n) <= target.stress(load + self._gone[n]))
        worst = [
            Prefix(max(self._source(n), target.stress(load + self._gone[n])), n)
            for n in (crossing - 1, crossing)
            if n in counts
        ]
        best = min(worst)
        return Prefix(best.worst, self._fewest(best.length))

    def _fewest(self, count: int) -> int:
        """Substreams without arrivals change nothing: those at the end of the prefix need not move."""
        return bisect_left(self._gone, self._gone[count], lo=1)

    def _source(self, count: int) -> Stress:
        return self.source.capacity.stress(self._left[count])


def leaving_order(substreams: Sequence[Substream]) -> list[Substream]:
    """By rising latency, those without completions first (StreamSwitch 3.4), then by number."""
    return sorted(substreams, key=lambda each: (each.latency_s is not None, each.latency_s or 0.0, each.id))
