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

    def for_rise(self, pool: PoolName, rise: float, least: int, latency_s: float) -> int:
        """At least `least`, and as many as keep a mean of `latency_s` over the SLA's window in which the load rises by
        this factor and others start."""
        size = least
        while rise > 1 and size < self.most(pool) and self._window_with_rise_s(pool, rise, size) > latency_s:
            size += 1
        return size

    def for_backlog(self, pool: PoolName, snapshot: Snapshot, latency_s: float) -> int:
        """As many as serve the load and drain what will wait for too long when they serve: more than `latency_s`.

        0 if there is no such backlog.
        """
        view = self.pools[pool]
        serving = len(view.active) or view.size
        waiting_s = self.start_s / 2 if serving < view.size else self.start_s
        work = backlog_s = 0.0
        for name in view.measured:
            cost, state = self.costs[name], snapshot.operators.get(name)
            stretched = cost.stretch(view.size)
            work += cost.work(self.present_rates[name]) * stretched
            backlog_s += 0.0 if state is None else cost.backlog_s(state) * stretched
        allowed_s = work * latency_s / len(self.pools)
        late_s = backlog_s + (work - serving) * waiting_s - allowed_s
        return math.ceil(work + late_s / self.drain_s - 1e-9) if late_s > 0 and backlog_s > allowed_s / 2 else 0

    def _not_overloaded(self, pool: PoolName) -> int:
        size = self.pools[pool].bounds.least
        while size < self.most(pool) and self.utilisation(pool, size) > _BUSY:
            size += 1
        return size

    def _window_with_rise_s(self, pool: PoolName, rise: float, size: int) -> float:
        """The mean latency of a window that begins with a rise: it lasts until others serve and have drained."""
        return max((self._operator_with_rise_s(name, rise, size) for name in self.pools[pool].measured), default=0.0)

    def _operator_with_rise_s(self, name: OperatorName, rise: float, size: int) -> float:
        """Every record of the window counts, so that the time of the rise counts more than the time before it."""
        cost, rate = self.costs[name], self.rates[name]
        before_s, used = cost.latency_s(rate, size), rise * cost.utilisation(rate, size)
        if math.isinf(before_s):
            return math.inf
        over_s = self.start_s + self.drain_s
        if cost.batched:
            risen_s = self._batches_with_rise_s(before_s / LATENCY_IN_BATCHES, cost.batch_cost_s(size), used, over_s)
        else:
            risen_s = before_s + max(0.0, used - 1) * self.start_s / 2
        weight = rise * min(over_s, self.window_s)
        rest_s = max(0.0, self.window_s - over_s)
        return (weight * risen_s + rest_s * before_s) / (weight + rest_s)

    def _batches_with_rise_s(self, batch_s: float, cost_s: float, used: float, until_s: float) -> float:
        """The mean latency of the rows that arrive until then. New executors get their first rows in the batch after
        the one under way."""
        time_s = total_s = 0.0
        while time_s < until_s and batch_s > 0:
            next_s = cost_s + (used if time_s < self.start_s else _DRAINING_USE) * batch_s
            total_s += batch_s * (batch_s / 2 + next_s)
            time_s += batch_s
            batch_s = next_s
        return total_s / time_s if time_s > 0 else 0.0
