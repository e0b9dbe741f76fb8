"""Replicas: from work to replicas (PA-SPS eq. 2), within the budget."""

import heapq
import math
from collections.abc import Sequence

import msgspec

_ROUNDING = 1e-9
"""20 events of 100 ms in a second are work for 2, however the product comes out."""


class ReplicaNeed(msgspec.Struct, frozen=True):
    """What one pool needs: `load` executors' worth of work, between `least` and `most` executors."""

    load: float
    least: int = 1
    most: float = math.inf

    @property
    def replicas(self) -> int:
        """r = λ̂·et/td, rounded up, at least 1, at most the pool."""
        return int(min(self.most, max(self.least, math.ceil(self.load - _ROUNDING), 1)))


def load(events: float, execution_time_s: float, td_s: float) -> float:
    """λ̂·et/td, not yet rounded (eq. 2)."""
    return events * execution_time_s / td_s


def replicas_within_budget(needs: Sequence[ReplicaNeed], total: float) -> list[int]:
    """The replicas of each pool; when `total` is less than all need, the pool with the most work for each of its
    executors is served first."""
    wanted = [need.replicas for need in needs]
    if sum(wanted) <= total:
        return wanted
    given = [min(need.least, most) for need, most in zip(needs, wanted, strict=True)]
    queue = [(-need.load / given[i], i) for i, need in enumerate(needs) if given[i] < wanted[i]]
    heapq.heapify(queue)
    for _ in range(int(total) - sum(given)):
        _, i = heapq.heappop(queue)
        given[i] += 1
        if given[i] < wanted[i]:
            heapq.heappush(queue, (-needs[i].load / given[i], i))
    return given
