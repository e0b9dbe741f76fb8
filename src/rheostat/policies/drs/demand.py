"""Demand: arrivals and service of the operators of one pool, as one stream of records."""

import math
from collections.abc import Sequence
from typing import Self

import msgspec

from rheostat.policies.batch_cost import BatchCost
from rheostat.queueing import GIGk, MicroBatch


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """One operator, or several that share a pool. SCVs are None where not measured; `batch_cost` is what a
    batch costs beside its work."""

    arrival_rate: float
    service_rate: float
    arrival_scv: float | None = None
    service_scv: float | None = None
    batch_cost: BatchCost | None = None

    @classmethod
    def together(cls, demands: Sequence["Demand"]) -> Self:
        """Several as one: each record waits for the same executors, then is served at its own operator's rate.

        Σ λi·E[Ti] of DRS eq. 4 stays what it is. Arrivals of several streams vary as their mean does, by rate.
        """
        rate = math.fsum(d.arrival_rate for d in demands)
        shares = [d.arrival_rate / rate if rate else 1 / len(demands) for d in demands]
        service_s = math.fsum(s / d.service_rate for s, d in zip(shares, demands, strict=True))
        squares = [None if d.service_scv is None else (1 + d.service_scv) / d.service_rate**2 for d in demands]
        square = _weighted(shares, squares)
        costs = [d.batch_cost for d in demands if d.batch_cost is not None]
        return cls(
            arrival_rate=rate,
            service_rate=1 / service_s,
            arrival_scv=_weighted(shares, [d.arrival_scv for d in demands]),
            service_scv=None if square is None else max(0.0, square / service_s**2 - 1),
            batch_cost=_mean_cost(shares, costs) if len(costs) == len(demands) else None,
        )

    def bundled(self, rate: float) -> Self:
        """The same work in `rate` bundles a second: those that a batch takes along together count as one."""
        if not rate or not self.arrival_rate:
            return self
        service_rate = self.service_rate * rate / self.arrival_rate
        return msgspec.structs.replace(self, arrival_rate=rate, service_rate=service_rate)

    def queue(self, *, variation: bool) -> GIGk:
        """GI/G/k where `variation` is asked for and measured, else M/M/k."""
        if variation and self.arrival_scv is not None and self.service_scv is not None:
            return GIGk(self.arrival_rate, self.service_rate, self.arrival_scv, self.service_scv)
        return GIGk(self.arrival_rate, self.service_rate)

    def batches(self) -> MicroBatch | None:
        """The micro-batch model; None while the cost of a batch is not known."""
        if self.batch_cost is None or not any(self.batch_cost):
            return None
        fixed_s, per_task_s, shared_s = self.batch_cost
        return MicroBatch(self.arrival_rate, self.service_rate, fixed_s, per_task_s, shared_s=shared_s)


def _mean_cost(shares: Sequence[float], costs: Sequence[BatchCost]) -> BatchCost:
    parts = zip(*costs, strict=True)
    return BatchCost(*(math.fsum(s * part for s, part in zip(shares, each, strict=True)) for each in parts))


def _weighted(shares: Sequence[float], values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(s * v for s, v in zip(shares, known, strict=True)) if len(known) == len(values) else None
