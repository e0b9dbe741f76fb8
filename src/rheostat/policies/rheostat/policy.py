"""The `rheostat` policy: as few executors as keep the SLA, for the load now and for rises like those seen before."""

import math
from collections import deque
from collections.abc import Mapping, Sequence

from rheostat.decision import Decision
from rheostat.describe import resize
from rheostat.duration import human, seconds
from rheostat.names import OperatorName, PoolName
from rheostat.policies.drs.routes import Routes
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.rheostat.load_history import LoadHistory
from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.policies.rheostat.options import RheostatOptions
from rheostat.policies.rheostat.start_times import StartTimes
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Goal

_AIM = 0.8
_AIM_IN = 0.65


class Rheostat(Policy[RheostatOptions]):
    """Keeps the SLA at the least cost."""

    name = "rheostat"
    summary = "keeps the SLA at the least cost: sizes for load, backlog and the rises seen before"

    def __init__(self, goal: Goal, options: RheostatOptions | None = None) -> None:
        super().__init__(goal, options)
        self._load = LoadHistory()
        self._routes = Routes(goal.topology)
        self._costs = {name: OperatorCost() for name in goal.topology.operators}
        self._starts = StartTimes()
        self._drain_s = seconds(self.options.drain, "drain")
        self._keep_s = seconds(self.options.keep, "keep")
        self._needed: dict[PoolName, deque[tuple[float, int]]] = {}
        end = goal.end_to_end
        self._sla_s = end.latency_s if end else min((s.latency_s for s in goal.slas), default=math.inf)
        self._window_s = end.window_s if end else min((s.window_s for s in goal.slas), default=10.0)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        time_s = observation.snapshot.time_s
        self._learn(observation, time_s)
        rate = self._load.rate
        if rate is None:
            return observation.hold_all("the rate at the sources was not measured yet: hold")
        rates = self._routes.arrival_rates(rate)
        if rates is None or any(rates[n] > 0 and self._costs[n].service_s is None for p in observation.pools.values() for n in p.measured):
            return observation.hold_all("what a record costs was not measured yet: hold")
        horizon_s = self._starts.expected_s + 3.0
        rise = self._load.rise(horizon_s, self.options.caution)
        steady = self._steady(observation, rates, _AIM)
        kept = self._steady(observation, rates, _AIM_IN)
        ready = {n: max(k, self._for_rise(observation.pools[n], rates, rise, horizon_s, k)) for n, k in steady.items()}
        kept = {n: max(k, ready[n]) for n, k in kept.items()}
        drains = {n: self._for_backlog(p, observation, rates) for n, p in observation.pools.items()}
        wanted: dict[PoolName, float] = {}
        for name, pool in observation.pools.items():
            recent = self._needed.setdefault(name, deque())
            recent.append((time_s, kept[name]))
            while recent[0][0] < time_s - self._keep_s:
                recent.popleft()
            out = max(ready[name], drains[name])
            if out > pool.size:
                wanted[name] = out
            elif pool.settling or drains[name] > kept[name] or self._late(observation):
                wanted[name] = pool.size
            else:
                held = max(k for _, k in recent)
                full = time_s - recent[0][0] >= self._keep_s - 2 * 2
                wanted[name] = min(pool.size, max(held, drains[name])) if full else pool.size
        sizes = within_budget(observation, wanted)
        return [self._decision(p, sizes[n], rate, rise, steady[n], ready[n], drains[n]) for n, p in observation.pools.items()]

    def _late(self, observation: Observation) -> bool:
        latency_s = observation.measures.latency_s
        return latency_s is not None and latency_s > self._sla_s

    def _learn(self, observation: Observation, time_s: float) -> None:
        measures = observation.measures
        self._load.add(time_s, measures.interval_s, measures.external_rate)
        self._routes.update(observation.snapshot)
        self._starts.update(observation.pools, time_s)
        for pool in observation.pools.values():
            active = len(pool.active) or pool.size
            for name in pool.measured:
                state = observation.snapshot.operators.get(name)
                if state is not None:
                    self._costs[name].update(state, time_s, active, pool.executors)

    def _latency_s(self, pools: Mapping[PoolName, PoolView], rates: Mapping[OperatorName, float], sizes: Mapping[PoolName, int]) -> float:
        return sum(self._costs[o].latency_s(rates[o], sizes[n]) for n, p in pools.items() for o in p.measured)

    def _steady(self, observation: Observation, rates: Mapping[OperatorName, float], aim: float) -> dict[PoolName, int]:
        pools = observation.pools
        sizes = {n: p.bounds.clamp(max(1, math.ceil(sum(self._costs[o].utilisation(rates[o], 1) for o in p.measured) / 0.93))) for n, p in pools.items()}
        most = {n: min(p.useful, p.bounds.most) for n, p in pools.items()}
        while (now := self._latency_s(pools, rates, sizes)) > aim * self._sla_s:
            best, gain = None, 0.01 * now if math.isfinite(now) else 0.0
            for n in sizes:
                if sizes[n] < most[n]:
                    less = now - self._latency_s(pools, rates, {**sizes, n: sizes[n] + 1})
                    if math.isnan(less) or less > gain:
                        best, gain = n, (less if not math.isnan(less) else math.inf)
            if best is None:
                break
            sizes[best] += 1
        return sizes

    def _for_rise(self, pool: PoolView, rates: Mapping[OperatorName, float], rise: float, horizon_s: float, least: int) -> int:
        if rise <= 1.01:
            return least
        size = least
        while size < min(pool.useful, pool.bounds.most) and self._risen_s(pool, rates, rise, horizon_s, size) > self._sla_s:
            size += 1
        return size

    def _risen_s(self, pool: PoolView, rates: Mapping[OperatorName, float], rise: float, horizon_s: float, size: int) -> float:
        """The mean latency over a window in which the load rises."""
        worst = 0.0
        for o in pool.measured:
            cost = self._costs[o]
            used = cost.utilisation(rates[o], size)
            base = cost.latency_s(rates[o], size)
            if not math.isfinite(base):
                return math.inf
            c = cost.batch_cost_s(size) if cost.batched else (cost.service_s or 0.0)
            d = base / 1.5 if cost.batched else base
            t = 0.0
            area = 0.0
            while t < horizon_s + self._drain_s:
                u = rise * used if t < horizon_s else 0.5
                step = max(d, 1.0)
                d = c + u * max(d, step if not cost.batched else d)
                area += step * (1.5 * d)
                t += step
            worst = max(worst, (area + max(0.0, self._window_s - t) * base) / max(self._window_s, t))
        return worst

    def _for_backlog(self, pool: PoolView, observation: Observation, rates: Mapping[OperatorName, float]) -> int:
        work = excess_s = 0.0
        start_s = self._starts.expected_s
        for o in pool.measured:
            cost, state = self._costs[o], observation.snapshot.operators.get(o)
            per = (cost.service_s or 0.0) * cost.stretch
            work += rates[o] * per
            queued = (state.queued or 0) if state is not None else 0
            allowed = rates[o] * self._sla_s / max(1, len(observation.pools))
            excess_s += max(0.0, queued - allowed) * per
        active = len(pool.active) or pool.size
        coming = pool.size - active
        accrued = max(0.0, (work - active) * (start_s * (0.5 if coming > 0 else 1.0)))
        if excess_s <= 0 and work <= active:
            return 0
        return math.ceil(work + (excess_s + accrued) / self._drain_s - 1e-9)

    def _decision(self, pool: PoolView, size: int, rate: float, rise: float, steady: int, ready: int, drain: int) -> Decision:
        reason = f"{rate:.0f}/s needs {steady}, {ready} with rises of {rise:.2f}, {drain} with the backlog: {resize(pool.size, size) if size != pool.size else 'hold'}"
        return pool.scale(size, reason)
