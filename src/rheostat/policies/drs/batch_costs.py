"""What a micro-batch costs beside its rows, as a function of the executors: learned from the batches that were run."""

from dataclasses import dataclass

from rheostat.queueing.microbatch import fitted_cost_s
from rheostat.snapshot import Batch

_ENOUGH = 3
"""Batches before a cost is believed: counters of a batch under way may be ahead of each other."""

_REMEMBERED = 200
"""Batches at one number of executors after which older ones count half: costs may drift."""


@dataclass(slots=True)
class _Paid:
    """Batches run at one number of executors, and what they cost together."""

    batches: float = 0.0
    cost_s: float = 0.0

    def add(self, batches: int, cost_s: float) -> None:
        if self.batches > _REMEMBERED:
            self.batches, self.cost_s = self.batches / 2, self.cost_s / 2
        self.batches, self.cost_s = self.batches + batches, self.cost_s + cost_s


class BatchCosts:
    """Follows the batches of one operator. c0 and c1 are fitted over the numbers of executors it was seen with.

    While it was seen with one number only, c1 is not known and taken as 0: more executors are tried, and found out
    about, rather than feared.
    """

    def __init__(self) -> None:
        self._last: tuple[int, Batch] | None = None
        self._paid: dict[int, _Paid] = {}

    def see(self, batch: Batch, executors: int, utilisation: float | None) -> None:
        """The counters at one more moment, with so many executors serving since the moment before."""
        last, self._last = self._last, (executors, batch)
        if last is None or last[0] != executors or batch.count <= last[1].count:
            return
        cost_s = _cost_s(last[1], batch, utilisation)
        if cost_s is not None:
            self._paid.setdefault(executors, _Paid()).add(batch.count - last[1].count, cost_s)

    def fitted(self) -> tuple[float, float] | None:
        """c0 and c1 in seconds, such that a batch on k executors costs c0 + c1·k; None before anything is known."""
        known = {k: paid.cost_s / paid.batches for k, paid in self._paid.items() if paid.batches >= _ENOUGH}
        if not known or not any(known.values()):
            return None
        return fitted_cost_s(list(known), list(known.values()), [0.0] * len(known))


def _cost_s(before: Batch, now: Batch, utilisation: float | None) -> float | None:
    """What the batches between two moments cost: as measured, or else D(1 − ρ)."""
    if before.fixed_s is not None and now.fixed_s is not None:
        return now.fixed_s - before.fixed_s
    if utilisation is None:
        return None
    return (now.duration_s - before.duration_s) * max(0.0, 1.0 - utilisation)
