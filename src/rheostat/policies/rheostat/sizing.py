"""Sizing: the fewest executors for a load in the long run, for a sudden rise of it, and for a backlog."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rheostat.names import OperatorName, PoolName
from rheostat.policies.observation import PoolView
from rheostat.policies.rheostat.operator_cost import LATENCY_IN_BATCHES, OperatorCost
from rheostat.snapshot import Snapshot

_BUSY = 0.93
"""Utilisation of the busiest executor that is planned for at most: beyond it a small error of the model is overload."""

_LEAST_GAIN = 0.01
"""An executor that shortens the latency by a smaller share is not worth it."""

_DRAINING_USE = 0.5
"""Utilisation while a backlog is drained that a rise has left."""

Sizes = dict[PoolName, int]


@dataclass(frozen=True, slots=True)
class Sizing:
    """The load of this turn: what each operator's records cost, and how many arrive a second, now and as planned for.

    The SLA asks for a mean latency of `sla_s` over windows of `window_s`. An executor takes `start_s` until it serves;
    a backlog is to be gone `drain_s` after that.
    """

    pools: Mapping[PoolName, PoolView]
    costs: Mapping[OperatorName, OperatorCost]
    present_rates: Mapping[OperatorName, float]
    rates: Mapping[OperatorName, float]
    sla_s: float
    window_s: float
    start_s: float
    drain_s: float

    def most(self, pool: PoolName) -> int:
        """The most executors that may serve `pool` and can all have work."""
        return min(self.pools[pool].useful, self.pools[pool].bounds.most)

    def work(self, pool: PoolName) -> float:
        """Executors of `pool` that are busy all the time."""
        return sum(self.costs[name].work(self.rates[name]) for name in self.pools[pool].measured)

    def utilisation(self, pool: PoolName, size: int) -> float:
        """Of the busiest of `size` executors."""
        return sum(self.costs[name].utilisation(self.rates[name], size) for name in self.pools[pool].measured)

    def latency_s(self, sizes: Mapping[PoolName, int]) -> float:
        """From the entry of a record to its results, in the long run; infinite in overload."""
        return sum(
            self.costs[name].latency_s(self.rates[name], sizes[pool])
            for pool, view in self.pools.items()
            for name in view.measured
        )

    def steady(self, latency_s: float) -> Sizes:
        """The fewest executors that keep `latency_s` in the long run, or come as near to it as the bounds allow.

        Executors are added one by one where they shorten the latency most.
        """
        sizes = {pool: self._not_overloaded(pool) for pool in self.pools}
        while (now_s := self.latency_s(sizes)) > latency_s:
            gains = {
                pool: now_s - self.latency_s({**sizes, pool: size + 1})
                for pool, size in sizes.items()
                if size < self.most(pool)
            }
            best = max(gains, key=gains.__getitem__, default=None)
            if best is None or not gains[best] > _LEAST_GAIN * now_s:
                break
            sizes[best] += 1
        return sizes

    def for_rise(self, pool: PoolName, rise: float, least: int) -> int:
        """At least `least`, and as many as keep the SLA's mean when the load rises by this factor and others start."""
        size = least
        while rise > 1 and size < self.most(pool) and self._window_with_rise_s(pool, rise, size) > self.sla_s:
            size += 1
        return size

    def for_backlog(self, pool: PoolName, snapshot: Snapshot) -> int:
        """As many as serve the load and drain what is queued for too long, with what is added until they serve.

        0 if there is no such backlog and the executors that serve now are enough.
        """
        view, work, late_s = self.pools[pool], 0.0, 0.0
        for name in view.measured:
            stretch, state = self.costs[name].stretch(view.size), snapshot.operators.get(name)
            work += self.costs[name].work(self.present_rates[name]) * stretch
            queued = (state.queued or 0) if state is not None else 0
            late = max(0.0, queued - self.present_rates[name] * self.sla_s / len(self.pools))
            late_s += late * (self.costs[name].service_s or 0.0) * stretch
        serving = len(view.active) or view.size
        if late_s <= 0 and work <= serving:
            return 0
        waiting_s = self.start_s / 2 if serving < view.size else self.start_s
        late_s += max(0.0, work - serving) * waiting_s
        return math.ceil(work + late_s / self.drain_s - 1e-9)

    def _not_overloaded(self, pool: PoolName) -> int:
        size = self.pools[pool].bounds.least
        while size < self.most(pool) and self.utilisation(pool, size) > _BUSY:
            size += 1
        return size

    def _window_with_rise_s(self, pool: PoolName, rise: float, size: int) -> float:
        """The mean latency of a window that begins with a rise: it lasts until others serve and have drained."""
        return max((self._operator_with_rise_s(name, rise, size) for name in self.pools[pool].measured), default=0.0)

    def _operator_with_rise_s(self, name: OperatorName, rise: float, size: int) -> float:
        cost, rate = self.costs[name], self.rates[name]
        before_s, used = cost.latency_s(rate, size), rise * cost.utilisation(rate, size)
        if math.isinf(before_s):
            return math.inf
        over_s = area = 0.0
        if cost.batched:
            batch_s, batch_cost_s = before_s / LATENCY_IN_BATCHES, cost.batch_cost_s(size)
            while over_s < self.start_s + self.drain_s and batch_s > 0:
                over_s += batch_s
                batch_s = batch_cost_s + (used if over_s < self.start_s else _DRAINING_USE) * batch_s
                area += batch_s * LATENCY_IN_BATCHES * batch_s
        else:
            over_s = self.start_s + self.drain_s
            area = (before_s + max(0.0, used - 1) * self.start_s / 2) * over_s
        rest_s = max(0.0, self.window_s - over_s)
        return (area + rest_s * before_s) / (over_s + rest_s)
