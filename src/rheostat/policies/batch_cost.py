"""Batch costs: what a micro-batch costs beside its work, c = c0 + c1·k + s/k on k executors, learned from past batches.

What each task costs beside its work is shared by the executors (s): a stage with state has 200 tasks by Spark's
defaults, which run one after the other on a single executor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rheostat.queueing.models.microbatch import fitted_cost_s
from rheostat.snapshot import Batch, ExecutorState

_ENOUGH = 3
"""Batches before a cost is used: the counters of a running batch may be ahead of each other."""

_MANY_TASKS = 3
"""For each executor: stages with more tasks than that have as many on any number of executors."""

_COLD = 3.0
"""Times as much as the others the dearest batches must have cost to be left out: they were cold, and took seconds."""

_REMEMBERED = 20
"""Batches at one number of executors after which older ones count half: the first ones are cold, and costs drift."""


class BatchCost(NamedTuple):
    """c0, c1 and s in seconds."""

    fixed_s: float = 0.0
    per_executor_s: float = 0.0
    shared_s: float = 0.0

    def at(self, size: int) -> float:
        """The cost of a batch on `size` executors."""
        return self.fixed_s + self.per_executor_s * size + self.shared_s / max(1, size)


class BatchCosts:
    """Follows the batches of one operator. As long as it has run on one number of executors only, c1 is not known and
    taken as 0: a policy that assumed more would never try other numbers. What tasks cost is then taken to be shared by
    further executors. Once there were several numbers, their costs show whether it is: nodes may have fewer cores than
    executors.

    Where the plant does not measure the cost, it is the duration less the work of the busiest executor, which is what a
    batch waits for.
    """

    def __init__(self) -> None:
        self._last: _Reading | None = None
        self._paid: dict[int, _Paid] = {}

    def update(
        self, batch: Batch | None, size: int, executors: Sequence[ExecutorState] = (), *, counts: bool = True
    ) -> None:
        """Add the counters of one more turn, with `size` executors since the turn before; None without batches. Nothing
        is learned from the batches of a turn that does not count."""
        last = self._last
        if batch is None or (last is not None and batch.count == last.batch.count):
            return
        self._last = _Reading(size, batch, {each.id: each.busy_s for each in executors if each.busy_s is not None})
        if not counts or last is None or last.size != size or batch.count < last.batch.count:
            return
        cost_s = self._last.cost_since(last)
        if cost_s is not None:
            batches = batch.count - last.batch.count
            self._paid.setdefault(size, _Paid()).add(batches, cost_s, self._last.shared_since(last))

    def fitted(self) -> BatchCost | None:
        """None before anything is known."""
        known = {k: paid for k, paid in self._paid.items() if paid.batches >= _ENOUGH}
        sizes, costs_s = list(known), [paid.usual_s for paid in known.values()]
        if not any(costs_s):
            return None
        shared_s = max(paid.overhead_s / paid.batches for paid in known.values())
        if len(known) == 1:
            shared_s = min(shared_s, costs_s[0] * sizes[0])
            return BatchCost(costs_s[0] - shared_s / sizes[0], 0.0, shared_s)
        if shared_s > 0 and np.polyfit(sizes, costs_s, 1)[0] < 0:
            return _falling(sizes, costs_s, shared_s)
        return BatchCost(*fitted_cost_s(sizes, costs_s, [0.0] * len(known)))

    @property
    def is_guess(self) -> bool:
        """Whether it was not seen yet how the cost depends on the number of executors."""
        return sum(paid.batches >= _ENOUGH for paid in self._paid.values()) < 2

    def at(self, size: int) -> float | None:
        """The cost of a batch on `size` executors; None before anything is known."""
        cost = self.fitted()
        return None if cost is None else cost.at(size)


def _falling(sizes: Sequence[int], costs_s: Sequence[float], most_s: float) -> BatchCost:
    """c0 and s, neither below 0 and s not above `most_s`, nearest to costs that fall with the executors."""
    shares, costs = 1 / np.array(sizes, float), np.array(costs_s)
    slope_s = float(np.polyfit(shares, costs, 1)[0])
    shared_s = min(max(0.0, slope_s), most_s, float(costs.mean() / shares.mean()))
    return BatchCost(float(costs.mean() - shared_s * shares.mean()), 0.0, shared_s)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The counters at one moment; `busy_s` by executor, where it is known."""

    size: int
    batch: Batch
    busy_s: Mapping[int, float]

    def shared_since(self, last: "_Reading") -> float:
        """What their tasks cost beside their work, if these were many."""
        tasks = (self.batch.tasks or 0) - (last.batch.tasks or 0)
        if tasks <= _MANY_TASKS * self.size * (self.batch.count - last.batch.count):
            return 0.0
        return max(0.0, (self.batch.overhead_s or 0.0) - (last.batch.overhead_s or 0.0))

    def cost_since(self, last: "_Reading") -> float | None:
        """What the batches since then cost together: as the plant measures it, or as it follows from their work."""
        if self.batch.fixed_s is not None and last.batch.fixed_s is not None:
            return max(0.0, self.batch.fixed_s - last.batch.fixed_s)
        works_s = [busy_s - last.busy_s[e] for e, busy_s in self.busy_s.items() if e in last.busy_s]
        if not works_s:
            return None
        return max(0.0, self.batch.duration_s - last.batch.duration_s - max(0.0, *works_s))


@dataclass(slots=True)
class _Paid:
    """Batches run at one number of executors, what they cost together, and what their tasks did on executors. The
    dearest of one reading are known apart."""

    batches: float = 0.0
    cost_s: float = 0.0
    overhead_s: float = 0.0
    dearest: float = 0.0
    dearest_cost_s: float = 0.0

    def add(self, batches: int, cost_s: float, overhead_s: float) -> None:
        if self.batches > _REMEMBERED:
            self.batches, self.cost_s, self.overhead_s = self.batches / 2, self.cost_s / 2, self.overhead_s / 2
            self.dearest = self.dearest_cost_s = 0.0
        if self.dearest == 0.0 or cost_s / batches > self.dearest_cost_s / self.dearest:
            self.dearest, self.dearest_cost_s = batches, cost_s
        self.batches, self.cost_s = self.batches + batches, self.cost_s + cost_s
        self.overhead_s += overhead_s

    @property
    def usual_s(self) -> float:
        """What a batch cost; without the dearest if they were cold, as far as others tell."""
        others, others_cost_s = self.batches - self.dearest, self.cost_s - self.dearest_cost_s
        if others >= _ENOUGH - 1 and self.dearest_cost_s / self.dearest > _COLD * others_cost_s / others:
            return others_cost_s / others
        return self.cost_s / self.batches
