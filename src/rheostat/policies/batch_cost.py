"""Batch costs: what a micro-batch costs beside its work, c = c0 + c1·k on k executors, learned from past batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rheostat.queueing.models.microbatch import fitted_cost_s
from rheostat.snapshot import Batch, ExecutorState

_ENOUGH = 3
"""Batches before a cost is used: the counters of a running batch may be ahead of each other."""

_REMEMBERED = 20
"""Batches at one number of executors after which older ones count half: the first ones are cold, and costs drift."""


class BatchCosts:
    """Follows the batches of one operator. As long as it has run on one number of executors only, c1 is not known and
    taken as 0: a policy that assumed more would never try other numbers.

    Where the plant does not measure the cost, it is the duration less the work of the busiest executor, which is what a
    batch waits for.
    """

    def __init__(self) -> None:
        self._last: _Reading | None = None
        self._paid: dict[int, _Paid] = {}

    def update(self, batch: Batch | None, size: int, executors: Sequence[ExecutorState] = ()) -> None:
        """Add the counters of one more turn, with `size` executors since the turn before; None without batches."""
        last = self._last
        if batch is None or (last is not None and batch.count == last.batch.count):
            return
        self._last = _Reading(size, batch, {each.id: each.busy_s for each in executors if each.busy_s is not None})
        if last is None or last.size != size or batch.count < last.batch.count:
            return
        cost_s = self._last.cost_since(last)
        if cost_s is not None:
            self._paid.setdefault(size, _Paid()).add(batch.count - last.batch.count, cost_s)

    def fitted(self) -> tuple[float, float] | None:
        """c0 and c1 in seconds; None before anything is known."""
        known = {k: paid.cost_s / paid.batches for k, paid in self._paid.items() if paid.batches >= _ENOUGH}
        if not any(known.values()):
            return None
        return fitted_cost_s(list(known), list(known.values()), [0.0] * len(known))

    def at(self, size: int) -> float | None:
        """The cost of a batch on `size` executors; None before anything is known."""
        costs_s = self.fitted()
        return None if costs_s is None else costs_s[0] + costs_s[1] * size


@dataclass(frozen=True, slots=True)
class _Reading:
    """The counters at one moment; `busy_s` by executor, where it is known."""

    size: int
    batch: Batch
    busy_s: Mapping[int, float]

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
    """Batches run at one number of executors, and what they cost together."""

    batches: float = 0.0
    cost_s: float = 0.0

    def add(self, batches: int, cost_s: float) -> None:
        if self.batches > _REMEMBERED:
            self.batches, self.cost_s = self.batches / 2, self.cost_s / 2
        self.batches, self.cost_s = self.batches + batches, self.cost_s + cost_s
