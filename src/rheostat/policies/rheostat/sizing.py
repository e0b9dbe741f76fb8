"""Sizing: the fewest executors for a load in the long run, for a sudden rise of it, and for a backlog."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rheostat.names import OperatorName, PoolName
from rheostat.policies.observation import PoolView
from rheostat.policies.rheostat.drain import Backlog, Drain, drain
from rheostat.policies.rheostat.load_replay import LoadReplay
from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.snapshot import Snapshot

_BUSY = 0.93
"""Utilisation of the busiest executor that is planned for at most: beyond it a small error of the model is overload."""

_LEAST_GAIN = 0.01
"""An executor that shortens the latency by a smaller share is not worth it."""

_LEAST_GUESSED_GAIN = 0.1
"""The same where it has little work, and it was not seen yet that executors share what batches cost: those that start
slow down others, and may bring nothing."""

_LESS = 0.99
"""An executor has less than before if it has less than this share of it."""

_LITTLE_WORK = 0.5
"""Utilisation."""

_LEAST_GAIN_OUT_OF_REACH = 0.03
"""The same where no number of executors keeps the SLA."""

_BARELY = 0.95
"""Share of the SLA's latency that is aimed at where less cannot be had."""

_CHANCES = 3.0
"""Standard deviations of the mean latency over a window."""

_LEAVING_S = 5.0
"""Executors are paid for until it is seen that they are not needed any more."""

_ACTIVATION_S = 2.0
"""Until a warm standby serves."""

_MOST_SIZES = 40
"""Of more sizes only some are tried for a backlog, each a share larger than the one before."""

_NOT_LATE = 1.1
"""Latencies up to so many times that of the long run are not due to a backlog."""

Sizes = dict[PoolName, int]


@dataclass(frozen=True, slots=True)
class Sizing:
    """The load of this turn: what each operator's records cost, and how many arrive a second, now and as planned for.

    The SLA asks for a mean latency of `sla_s` over windows of `window_s`. A rise is seen after `reaction_s`. From its
    request until it serves an executor takes `start_s`, and `crowding_s` longer for each other one that starts at once;
    those of a pool that start now have been starting for `starting_s`. A second out of the SLA is worth `penalty`
    seconds of the executors that the load needs. Latencies at operators are `correction` times those of the model, and
    records take `outside_s` in sources. There is room for `room` executors in all pools together.
    """

    pools: Mapping[PoolName, PoolView]
    costs: Mapping[OperatorName, OperatorCost]
    present_rates: Mapping[OperatorName, float]
    rates: Mapping[OperatorName, float]
    sla_s: float
    window_s: float
    start_s: float
    penalty: float
    reaction_s: float = 0.0
    starting_s: Mapping[PoolName, float] = field(default_factory=dict)
    owners: Mapping[OperatorName, tuple[int, ...]] = field(default_factory=dict)
    correction: float = 1.0
    outside_s: float = 0.0
    crowding_s: float = 0.0
    room: float = math.inf
    _latencies_s: dict[tuple[PoolName, int], float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _replayed: dict[tuple[PoolName, int, float], tuple[Sequence[LoadReplay], float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def rise_s(self) -> float:
        """From a rise of the load until executors serve that were asked for because of it."""
        return self.reaction_s + self.start_s

    def with_more(self, factor: float) -> "Sizing":
        """The same with a load that is higher by this factor."""
        return replace(self, rates={name: factor * rate for name, rate in self.rates.items()})

    def most(self, pool: PoolName) -> int:
        """The most executors that may serve `pool` and can all have work."""
        view = self.pools[pool]
        tasks = [self.costs[name].task_limit or view.bounds.most for name in view.measured]
        return max(view.bounds.least, min(view.useful, view.bounds.most, *tasks))

    def work(self, pool: PoolName) -> float:
        """Executors of `pool` that are busy all the time."""
        return sum(self.costs[name].work(self.rates[name]) for name in self.pools[pool].measured)

    def utilisation(self, pool: PoolName, size: int) -> float:
        """Of the busiest of `size` executors."""
        return sum(self.costs[name].utilisation(self.rates[name], size) for name in self.pools[pool].measured)

    def latency_s(self, sizes: Mapping[PoolName, int]) -> float:
        """From the entry of a record to its results, in the long run; infinite in overload."""
        return self.outside_s + self.at_operators_s(sizes)

    def at_operators_s(self, sizes: Mapping[PoolName, int]) -> float:
        """The part of it that the number of executors can change."""
        return sum(self._latency_s(pool, sizes) for pool in self.pools)

    def _latency_s(self, pool: PoolName, sizes: Mapping[PoolName, int]) -> float:
        known = pool, sizes[pool]
        if known not in self._latencies_s:
            self._latencies_s[known] = self.correction * sum(
                self.costs[name].latency_s(self.rates[name], sizes[pool]) for name in self.pools[pool].measured
            )
        return self._latencies_s[known]

    def left(self, latency_s: float) -> Sizes:
        """Those of `steady` that also keep the SLA when more arrives than usual, by chance."""
        return self._grown(self.steady(latency_s), self._by_chance_s, self.sla_s, _LEAST_GAIN)

    def _by_chance_s(self, sizes: Mapping[PoolName, int]) -> float:
        chances_s = [
            self.costs[name].chance_s(self.rates[name], size, self.window_s)
            for pool, size in sizes.items()
            for name in self.pools[pool].measured
        ]
        return self.latency_s(sizes) + self.correction * _CHANCES * math.hypot(*chances_s)

    def steady(self, latency_s: float) -> Sizes:
        """The fewest executors that keep `latency_s` in the long run, or come as near to it as the bounds allow, or
        barely keep the SLA if that takes many that hardly help."""
        is_in_reach = self.latency_s({pool: self.most(pool) for pool in self.pools}) <= latency_s
        least_gain = _LEAST_GAIN if is_in_reach else _LEAST_GAIN_OUT_OF_REACH
        fewest = {pool: self._not_overloaded(pool) for pool in self.pools}
        sizes = self._grown(fewest, self.latency_s, latency_s, least_gain)
        barely_s = max(latency_s, _BARELY * self.sla_s)
        if is_in_reach or self.latency_s(sizes) <= barely_s:
            return sizes
        more = self._grown(sizes, self.latency_s, barely_s, 0.0)
        return more if self.latency_s(more) <= barely_s else sizes

    def _grown(self, sizes: Sizes, latency_of: Callable[[Sizes], float], limit_s: float, least_gain: float) -> Sizes:
        """With executors added where each of them shortens the latency most, until it is within the limit, there is no
        room for more, or they hardly help."""
        while (now_s := latency_of(sizes)) > limit_s:
            left = self.room - sum(sizes.values())
            larger = {pool: next_size for pool in sizes if (next_size := self._larger(pool, sizes[pool])) is not None}
            gains = {
                pool: (now_s - latency_of({**sizes, pool: size})) / (size - sizes[pool])
                for pool, size in larger.items()
                if size - sizes[pool] <= left
            }
            worth = {
                pool: gain
                for pool, gain in gains.items()
                if gain > (_LEAST_GUESSED_GAIN if self._is_guess(pool, sizes[pool]) else least_gain) * now_s
            }
            if not worth:
                break
            best = max(worth, key=worth.__getitem__)
            sizes = {**sizes, best: larger[best]}
        return sizes

    def _larger(self, pool: PoolName, size: int) -> int | None:
        """The next size at which the busiest executor has less; None if there is none. Of 12 substreams an executor has
        two with 6 executors, and with 11 of them as well."""
        costs = [self.costs[name] for name in self.pools[pool].measured]
        for larger in range(size + 1, self.most(pool) + 1):
            if any(cost.stretch(larger) / larger < _LESS * cost.stretch(size) / size for cost in costs):
                return larger
        return None

    def _is_guess(self, pool: PoolName, size: int) -> bool:
        """Whether further executors only help if they share what batches cost, which was not seen yet."""
        return self.utilisation(pool, size) < _LITTLE_WORK and any(
            self.costs[name].is_guess for name in self.pools[pool].measured
        )

    def for_rises(self, replays: Sequence[LoadReplay], share: float, least: Sizes, latency_s: float) -> Sizes:
        """At least `least`, and as many as keep a mean of `latency_s` over the SLA's window in this share of the
        moments after which the load went on as in each of `replays`, while others start."""
        if not replays:
            return dict(least)
        allowed_s = self._allowed_s(least, latency_s)
        return {name: self._for_rises(name, replays, share, size, allowed_s[name]) for name, size in least.items()}

    def too_few(self, replays: Sequence[LoadReplay], share: float, latency_s: float) -> set[PoolName]:
        """The pools whose present size does not keep `latency_s`, in the long run or with such rises."""
        present = {name: view.size for name, view in self.pools.items()}
        if self.latency_s(present) > latency_s:
            return set(self.pools)
        if not replays:
            return set()
        allowed_s = self._allowed_s(present, latency_s)
        return {n for n, size in present.items() if self._replayed_s(n, replays, share, size) > allowed_s[n]}

    def _allowed_s(self, sizes: Mapping[PoolName, int], latency_s: float) -> dict[PoolName, float]:
        """What each pool may take of `latency_s`: what it does in the long run, and an equal part of what all of them
        leave then, since a rise comes to all."""
        steady_s = {name: self._latency_s(name, sizes) for name in self.pools}
        rest_s = self.outside_s + sum(steady_s.values())
        if math.isinf(rest_s):
            return dict.fromkeys(self.pools, latency_s / len(self.pools))
        left_s, least_s = (latency_s - rest_s) / len(self.pools), latency_s / (2 * len(self.pools))
        return {name: max(own_s + left_s, least_s) for name, own_s in steady_s.items()}

    def _for_rises(
        self, pool: PoolName, replays: Sequence[LoadReplay], share: float, least: int, latency_s: float
    ) -> int:
        size, now_s = least, self._replayed_s(pool, replays, share, least)
        if now_s <= latency_s:
            return size
        is_in_reach = self._replayed_s(pool, replays, share, self.most(pool)) <= latency_s
        least_gain = _LEAST_GAIN if is_in_reach else _LEAST_GAIN_OUT_OF_REACH
        for larger in _some_sizes(least + 1, self.most(pool)):
            next_s = self._replayed_s(pool, replays, share, larger)
            if next_s <= (1 - least_gain * (larger - size)) * now_s:
                size, now_s = larger, next_s
            if now_s <= latency_s:
                break
        return size

    def _replayed_s(self, pool: PoolName, replays: Sequence[LoadReplay], share: float, size: int) -> float:
        """With the warm standbys, which serve almost at once when the load rises."""
        serving = min(size + self.pools[pool].standby, max(size, self.most(pool)))
        of, latency_s = self._replayed.get((pool, serving, share), ((), 0.0))
        if of is not replays:
            latency_s = self.correction * max(
                sum(
                    replay.latency_s(self.costs[name], self.rates[name], serving, self.rise_s, self.window_s, share)
                    for name in self.pools[pool].measured
                    if self.rates[name] > 0
                )
                for replay in replays
            )
            self._replayed[pool, serving, share] = replays, latency_s
        return latency_s

    def for_backlog(self, pool: PoolName, snapshot: Snapshot, least: int) -> int:
        """As many as are worth it to drain the backlog, where the load needs `least`; the present size if no more are,
        or the last late record has left before one of them could serve; 0 if no record will be late because of it."""
        view = self.pools[pool]
        if (present := self.drained(pool, snapshot, view.size)).late_s <= 0:
            return 0
        if present.until_s <= (_ACTIVATION_S if view.standby else self.start_s):
            return view.size
        lateness_price = self.penalty * least
        best, best_price = view.size, lateness_price * present.late_s
        for size in _some_sizes(view.size + 1, self.most(pool)):
            drained = self.drained(pool, snapshot, size)
            paid_s = max(drained.until_s, self._started_s(view, size)) + _LEAVING_S
            price = lateness_price * drained.late_s + (size - view.size) * paid_s
            if price < best_price:
                best, best_price = size, price
        return best

    def drained(self, pool: PoolName, snapshot: Snapshot, size: int) -> Drain:
        """What comes of the backlog of `pool` if it is scaled out to `size`; its operators share the executors by their
        work. Latencies that there would be without a backlog are not late."""
        view = self.pools[pool]
        executors = self._executors(view, size)
        allowed_s = self._allowed_s({name: other.size for name, other in self.pools.items()}, self.sla_s)[pool]
        work = sum(self.costs[name].work(self.present_rates[name]) for name in view.measured)
        drains = [Drain(0.0, 0.0)]
        for name in view.measured:
            cost, rate, state = self.costs[name], self.present_rates[name], snapshot.operators.get(name)
            if state is None or not rate > 0:
                continue
            share = cost.work(rate) / work if work > 0 else 1.0
            served = [(since_s, max(1.0, share * number)) for since_s, number in executors]
            steady_s = cost.latency_s(rate, max(view.size, 1))
            limit_s = max(allowed_s, _NOT_LATE * steady_s) if math.isfinite(steady_s) else allowed_s
            backlog = Backlog.of(cost, state, rate)
            drains.append(drain(cost, backlog, served, limit_s / self.correction, self.window_s))
        return max(drains, key=lambda drained: drained.late_s)

    def _executors(self, view: PoolView, size: int) -> list[tuple[float, int]]:
        """How many serve from when on: those that do now, with warm standbys, with those that start now, and with
        others that are asked for now."""
        woken = min(view.standby, max(0, size - view.size))
        executors = [(0.0, len(view.active) or view.size)]
        if woken:
            executors.append((_ACTIVATION_S, executors[0][1] + woken))
        if executors[0][1] < view.size:
            start_s = self._started_s(view, view.size) - self.starting_s.get(view.name, 0.0)
            executors.append((max(executors[-1][0], start_s), view.size + woken))
        if size > view.size + woken:
            executors.append((self._started_s(view, size - woken), size))
        return executors

    def _started_s(self, view: PoolView, size: int) -> float:
        """Until as many executors serve, with those that start now."""
        return self.start_s + self.crowding_s * max(0, size - len(view.active) - 1)

    def _not_overloaded(self, pool: PoolName) -> int:
        size = self.pools[pool].bounds.least
        while size < self.most(pool) and self.utilisation(pool, size) > _BUSY:
            size += 1
        return size


def _some_sizes(first: int, last: int) -> Sequence[int]:
    if last - first < _MOST_SIZES:
        return range(first, last + 1)
    return sorted({round(size) for size in np.geomspace(first, last, _MOST_SIZES).tolist()})
