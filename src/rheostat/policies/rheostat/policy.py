"""The `rheostat` policy: as few executors as keep the SLA, for the load now and for rises like those seen before.

Scale-out is immediate and by as much as load and backlog need; a larger one may follow while executors start. Scale-in
goes in one step to what was needed in the last while, and never happens while the SLA is missed. Where the trouble is
that one executor has more than its share of a keyed operator, substreams move first; where batches wait for a slow one,
their rows are spread over more tasks, and it is replaced.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rheostat.decision import Decision, Effect, Move, Regroup, Transfer
from rheostat.describe import executors, resize
from rheostat.duration import human, seconds
from rheostat.grouping.check import LOAD_AWARE, ROUND_ROBIN
from rheostat.names import PoolName
from rheostat.policies.expectation import Expectation
from rheostat.policies.observation import NotMeasuredError, Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.rheostat.failed_sizes import FailedSizes
from rheostat.policies.rheostat.latency_correction import LatencyCorrection
from rheostat.policies.rheostat.latency_outside import LatencyOutside
from rheostat.policies.rheostat.latency_window import LatencyWindow
from rheostat.policies.rheostat.load_history import LoadHistory
from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.policies.rheostat.options import RheostatOptions
from rheostat.policies.rheostat.out_of_reach import why_out_of_reach
from rheostat.policies.rheostat.sizing import Sizes, Sizing
from rheostat.policies.rheostat.slow_executors import SlowExecutors
from rheostat.policies.rheostat.task_spread import TaskSpread
from rheostat.policies.routes import Routes
from rheostat.policies.start_times import StartTimes
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Goal

_AIM = 0.85
"""Share of the SLA's latency that is planned for."""

_TOLERATED = 0.92
"""Share of the SLA's latency up to which the present size is kept: small errors are no reason to act."""

_LEAVING = 0.1
"""Share by which the load may rise after a scale-in without a scale-out: it would soon be taken back."""

_REACTION_S = 3.0
"""From a rise of the load to the decision on it: the rate has to be seen."""

_ASSUMED_START_S = 10.0
"""Until one was seen to start."""

_RECENT_S = 10.0
"""Executors may leave if nothing was late for so long, and none was asked for: the SLA's window may be late for longer,
by what was drained."""

_EXCHANGED = 0.8
"""A pool gives executors to another if that brings the latency below this share of what it would be."""

_UNEVEN = 0.7
"""Moves are worth their pause if they bring the latency below this share of what it would be."""

_MOVED_BEFORE = 1.5
"""Times the present rate for which substreams are spread as well: once the load has risen, moves come too late."""


@dataclass(frozen=True, slots=True)
class _Need:
    """Executors that a pool needs: for the load, for a rise of it, for the backlog, and to be left after a scale-in.

    `too_few` says that the present size is not enough for load and rise.
    """

    load: int
    rise: int
    backlog: int
    kept: int
    too_few: bool

    @property
    def least(self) -> int:
        """Without what is kept ready."""
        return max(self.load, self.backlog)

    @property
    def now(self) -> int:
        return max(self.load, self.rise, self.backlog) if self.too_few else self.backlog


class Rheostat(Policy[RheostatOptions]):
    """Keeps the SLA at the least cost."""

    summary = "keeps the SLA at the least cost: sizes for load, backlog and rises of the load as seen before"

    def __init__(self, goal: Goal, options: RheostatOptions | None = None) -> None:
        super().__init__(goal, options)
        self._load, self._routes, self._starts = LoadHistory(), Routes(goal.topology), StartTimes()
        self._costs = {name: OperatorCost() for name in goal.topology.operators}
        self._least_keep_s = seconds(self.options.keep, "keep")
        self._kept: dict[PoolName, deque[tuple[float, int]]] = {}
        self._failed: dict[PoolName, FailedSizes] = {}
        self._last_out_s: dict[PoolName, float] = {}
        self._slow: dict[PoolName, SlowExecutors] = {}
        self._spread = {name: TaskSpread() for name in goal.topology.operators}
        strictest = goal.end_to_end or min(goal.slas, key=lambda sla: sla.latency_s, default=None)
        self._sla_s = math.inf if strictest is None else strictest.latency_s
        self._latency = LatencyWindow(10.0 if strictest is None else strictest.window_s)
        self._recent = LatencyWindow(min(_RECENT_S, self._latency.window_s))
        self._outside = LatencyOutside()
        self._correction = LatencyCorrection(self._sla_s, self._latency.window_s)
        self.expectation: Expectation | None = None

    @property
    def _keep_s(self) -> float:
        """How long executors are kept: what leaves sooner might be asked for again before it could be had back."""
        return max(self._least_keep_s, self._starts.alone_s)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        self._learn(observation)
        try:
            sizing = self._sizing(observation)
        except NotMeasuredError as missing:
            return observation.hold_all(str(missing))
        self._expect(observation.snapshot.time_s, sizing.rise_s)
        needs = self._needs(observation, sizing)
        self._correct(observation, sizing, needs)
        wanted = {name: self._wanted(observation, name, need, sizing.work(name)) for name, need in needs.items()}
        sizes = self._shared(observation, sizing, wanted, needs)
        return [
            self._regroup(observation, pool)
            or self._replace(observation, pool, sizes[name])
            or self._move(observation, sizing, pool, sizes[name])
            or self._scale(
                observation, sizing, pool, sizes, needs[name], gives_back=sizes[name] < min(wanted[name], pool.size)
            )
            for name, pool in observation.pools.items()
        ]

    def _learn(self, observation: Observation) -> None:
        snapshot, measures = observation.snapshot, observation.measures
        self._load.add(snapshot.time_s, measures.interval_s, measures.external_rate, measures.external_until_s)
        self._latency.add(snapshot.time_s, snapshot.latency)
        self._recent.add(snapshot.time_s, snapshot.latency)
        measured = [name for pool in observation.pools.values() for name in pool.measured]
        states = [state for name in measured if (state := snapshot.operators.get(name)) is not None]
        self._outside.update(snapshot.latency, {state.name: state.latency for state in states})
        self._routes.update(snapshot)
        self._starts.update(snapshot)
        rates = (self._routes.arrival_rates(self._load.rate) if self._load.rate is not None else None) or {}
        for pool in observation.pools.values():
            serving = len(pool.active) or pool.size
            self._slow.setdefault(pool.name, SlowExecutors()).update(snapshot.time_s, pool.active)
            for name in pool.measured:
                if (state := snapshot.operators.get(name)) is not None:
                    owners, substreams = observation.plan.assignment.get(name, ()), snapshot.substreams_of(name)
                    self._costs[name].update(
                        snapshot.time_s,
                        state,
                        pool.executors,
                        serving,
                        owners,
                        substreams,
                        rates.get(name),
                        is_disturbed=self._starts.disturb(pool.name),
                        planned=pool.size,
                    )
        self._load.costs_now(self._record_cost_s())

    def _expect(self, time_s: float, horizon_s: float) -> None:
        if (arrivals := self._load.expected(horizon_s)) is not None:
            self.expectation = Expectation(time_s, time_s + horizon_s, *arrivals)

    def _record_cost_s(self) -> float | None:
        """What a record that enters costs in all operators that it comes to; None if no operator's cost is known."""
        visits = self._routes.arrival_rates(1.0) or {}
        known = [
            visits[name] * cost.service_s for name, cost in self._costs.items() if name in visits and cost.service_s
        ]
        return sum(known) if known else None

    def _sizing(self, observation: Observation) -> Sizing:
        if self._load.rate is None:
            raise NotMeasuredError("the rate at the sources was not measured yet: hold")
        start_s = self._starts.alone_s or _ASSUMED_START_S
        present = self._routes.arrival_rates(self._load.rate)
        rise_s = start_s + _REACTION_S
        rates = self._routes.arrival_rates(self._load.forecast(rise_s) or self._load.by_trend(rise_s))
        if rates is None or present is None:
            raise NotMeasuredError("the rates of the operators were not measured yet: hold")
        for pool in observation.pools.values():
            for name in pool.measured:
                if rates[name] > 0 and self._costs[name].service_s is None:
                    raise NotMeasuredError(f"what a record of {name!r} costs was not measured yet: hold")
        return Sizing(
            pools=observation.pools,
            costs=self._costs,
            present_rates=present,
            rates=rates,
            sla_s=self._sla_s,
            window_s=self._latency.window_s,
            start_s=start_s,
            reaction_s=_REACTION_S,
            penalty=self.options.penalty,
            owners=observation.plan.assignment,
            correction=self._correction.factor,
            outside_s=self._outside.usual_s,
            starting_s={name: self._starts.under_way_s(name) for name in observation.pools},
            crowding_s=self._starts.crowding_s,
            room=observation.most_executors,
        )

    def _needs(self, observation: Observation, sizing: Sizing) -> dict[PoolName, _Need]:
        aim_s = _AIM * self._sla_s
        load = self._for_load(observation, sizing, aim_s)
        seasonal = self._load.forecast(sizing.rise_s + self._keep_s)
        staying = sizing if seasonal is None else replace(sizing, rates=self._routes.arrival_rates(seasonal) or {})
        left = staying.with_more(1 + max(_LEAVING, self._load.error)).left(aim_s)
        replays = self._load.replays(self._latency.window_s + sizing.rise_s) if seasonal is None else ()
        rises = sizing.for_rises(replays, self.options.caution, load, aim_s)
        too_few = sizing.too_few(replays, self.options.caution, _TOLERATED * self._sla_s)
        return {
            name: _Need(
                load[name],
                rises[name],
                sizing.for_backlog(name, observation.snapshot, load[name]),
                max(left[name], rises[name]),
                name in too_few,
            )
            for name in observation.pools
        }

    def _for_load(self, observation: Observation, sizing: Sizing, aim_s: float) -> Sizes:
        """What the load needs when new executors serve; if some have to start and the load rises, also what it needs
        when others could serve that are asked for then. Each start slows down those that serve."""
        load = sizing.steady(aim_s)
        if all(load[name] <= pool.size for name, pool in observation.pools.items()):
            return load
        later = self._routes.arrival_rates(self._load.by_trend(2 * sizing.rise_s)) or sizing.rates
        rates = {name: max(rate, later[name]) for name, rate in sizing.rates.items()}
        soon = replace(sizing, rates=rates).steady(aim_s)
        return {
            name: max(size, soon[name]) if size > observation.pools[name].size else size for name, size in load.items()
        }

    def _correct(self, observation: Observation, sizing: Sizing, needs: Mapping[PoolName, _Need]) -> None:
        """Learn how wrong the model is from what came of the decisions so far."""
        sizes = {name: pool.size for name, pool in observation.pools.items()}
        is_settled = not observation.settling and not any(need.backlog for need in needs.values())
        predicted_s, measured_s = sizing.at_operators_s(sizes) / sizing.correction, self._latency.mean_s
        if measured_s is not None:
            measured_s = max(0.0, measured_s - sizing.outside_s)
        self._correction.learn(observation.snapshot.time_s, predicted_s, measured_s, is_settled=is_settled)

    def _wanted(self, observation: Observation, name: PoolName, need: _Need, work: float) -> int:
        """The size that a pool should have, if the budget allows it."""
        pool, time_s = observation.pools[name], observation.snapshot.time_s
        recent, failed = self._kept.setdefault(name, deque()), self._failed.setdefault(name, FailedSizes())
        keep_s = min(self._keep_s, _RECENT_S) if self._load.has_season else self._keep_s
        recent.append((time_s, need.kept))
        while len(recent) > 1 and not recent[1][0] > time_s - keep_s:
            recent.popleft()
        if need.now > pool.size:
            self._last_out_s[name] = time_s
            if max(need.load, need.backlog) > pool.size:
                failed.scaled_out(time_s, work)
            return need.now
        is_new = time_s - self._last_out_s.get(name, -math.inf) < _RECENT_S
        if is_new or pool.settling or self._is_late(observation) or time_s - recent[0][0] < keep_s:
            return pool.size
        wanted = max(need.backlog, failed.least(time_s, work), *(size for _, size in recent))
        if wanted < pool.size:
            failed.scaled_in(time_s, wanted, work)
        return min(pool.size, wanted)

    @staticmethod
    def _shared(
        observation: Observation, sizing: Sizing, wanted: Mapping[PoolName, int], needs: Mapping[PoolName, _Need]
    ) -> Sizes:
        """Where load or backlog of one pool need more than there is room for, others give back what is not for theirs,
        also while records are late. But a little better is not worth it: the next turn may tell otherwise."""
        pools, sizes = observation.pools, within_budget(observation, wanted)
        needed = {name: min(size, max(pools[name].size, needs[name].least)) for name, size in wanted.items()}
        if sum(needed.values()) <= observation.most_executors:
            return sizes
        given = within_budget(observation, {name: min(size, needs[name].least) for name, size in wanted.items()})
        return given if sizing.latency_s(given) <= _EXCHANGED * sizing.latency_s(sizes) else sizes

    def _is_late(self, observation: Observation) -> bool:
        """Whether results are late, or records that wait or are computed now will be."""
        states = [s for name in observation.plan.pool_of if (s := observation.snapshot.operators.get(name)) is not None]
        waited_s = sum(self._costs[s.name].projected_s(s) for s in states)
        return max(self._recent.mean_s or 0.0, waited_s) > self._sla_s

    def _regroup(self, observation: Observation, pool: PoolView) -> Decision | None:
        """Spread the rows of batches over more tasks while one executor keeps the others waiting, and back. A grouping
        that somebody else has chosen stays."""
        found = self._slow[pool.name].slowest()
        for name in pool.measured:
            state, spread = observation.snapshot.operators.get(name), self._spread[name]
            if (
                state is None
                or not self._costs[name].batched
                or not observation.capabilities.can_group(name, LOAD_AWARE)
            ):
                continue
            present = observation.plan.grouping.get(name, state.grouping)
            if present != ROUND_ROBIN and not spread.was_wide:
                continue
            slow = None if found is None else found[1]
            spread.update(observation.snapshot.time_s, state, self._costs[name], pool.size, slow)
            if pool.settling:
                continue
            if spread.is_wide and present == ROUND_ROBIN:
                why = (
                    "batches wait for one executor: spread their records over more tasks, so that the others take some"
                )
                return Regroup(operator=name, grouping=LOAD_AWARE, reason=why)
            if not spread.is_wide and present == LOAD_AWARE:
                why = "batches do not wait for one executor any more: one task for each executor"
                return Regroup(operator=name, grouping=ROUND_ROBIN, reason=why)
        return None

    def _replace(self, observation: Observation, pool: PoolView, size: int) -> Decision | None:
        """Let a slow executor go, and start another in its place: a batch lasts as long as its slowest task.

        Executors of a keyed operator may be slow because of their keys.
        """
        found = self._slow[pool.name].slowest()
        if found is None or pool.settling or size < pool.size or pool.size < 2:
            return None
        if found[0] not in pool.plan.executors or any(name in observation.plan.assignment for name in pool.operators):
            return None
        slow, factor = found
        reason = f"records take {factor:.1f} times as long on executor {slow} as on the others: replace it"
        return pool.scale(size, reason, leaving=(slow,))

    def _move(self, observation: Observation, sizing: Sizing, pool: PoolView, size: int) -> Decision | None:
        """Even out a keyed operator whose busiest executor has too much."""
        for name in () if pool.settling or size != pool.size else pool.measured:
            owners, cost = observation.plan.assignment.get(name), self._costs[name]
            if not owners or not cost.shares.is_uneven(owners, pool.size):
                continue
            rate = self._rate_to_move_for(cost, sizing.rates[name], pool.size, _AIM * self._sla_s / len(sizing.pools))
            if rate is None:
                continue
            now_s, even_s = cost.latency_s(rate, pool.size, as_it_is=True), cost.latency_s(rate, pool.size)
            if transfers := cost.shares.transfers(owners, pool.plan.executors):
                share = cost.shares.stretch(owners, pool.size)
                moved = sum(len(transfer.substreams) for transfer in transfers)
                return Move(
                    operator=name,
                    transfers=transfers,
                    predicted=Effect(even_s, None, pool.size),
                    reason=f"the busiest executor has {share:.2f} times the mean load, expected latency at {rate:,.3g} "
                    f"records/s {_human(now_s)}: move {moved} substreams, expected latency {_human(even_s)}",
                )
        return None

    @staticmethod
    def _rate_to_move_for(cost: OperatorCost, rate: float, size: int, limit_s: float) -> float | None:
        """The present rate, or the one that may soon come, if even substreams help at it; None if they help at none."""
        for each in (rate, _MOVED_BEFORE * rate):
            now_s, even_s = cost.latency_s(each, size, as_it_is=True), cost.latency_s(each, size)
            if now_s > limit_s and even_s <= _UNEVEN * now_s and (each == rate or math.isfinite(even_s)):
                return each
        return None

    def _scale(
        self,
        observation: Observation,
        sizing: Sizing,
        pool: PoolView,
        sizes: Mapping[PoolName, int],
        need: _Need,
        *,
        gives_back: bool,
    ) -> Decision:
        size, rate = sizes[pool.name], sum(sizing.rates[name] for name in pool.measured)
        latency_s = sizing.latency_s(sizes)
        load = f"{rate:,.3g} records/s are work for {sizing.work(pool.name):.1f} executors" + "".join(
            f" (estimated: a record of {name!r} costs {self._costs[name].jump:.1f} times as much in this batch)"
            for name in pool.measured
            if self._costs[name].jump > 1
        )
        expected = f"expected latency {_human(latency_s)}, SLA {_human(self._sla_s)}"
        if gives_back:
            why = f"{load}, and another pool needs more executors than there is room for"
        elif max(need.rise, need.backlog) <= need.load:
            why = load
        elif need.backlog >= need.rise:
            why = f"{load}, and the backlog for more: {self._drained(observation, sizing, pool, size)}"
        else:
            why = f"{load}, and {executors(need.rise)} survive {self.options.caution:.0%} of the rises seen before"
        what = resize(pool.size, size) if size != pool.size else "hold"
        short = ""
        is_too_small = need.now > size or latency_s > self._sla_s
        if is_too_small or need.backlog:
            wanted = max(need.now, size + 1) if is_too_small else size
            why_not = why_out_of_reach(observation, sizing, pool, wanted)
            short = f" (out of reach: {why_not})" if why_not else ""
        finite = latency_s if math.isfinite(latency_s) else None
        transfers = () if size == pool.size or pool.settling else self._transfers(sizing, pool, size)
        return pool.scale(size, f"{why}: {what}{short}, {expected}", latency_s=finite, transfers=transfers)

    @staticmethod
    def _drained(observation: Observation, sizing: Sizing, pool: PoolView, size: int) -> str:
        now_s = sizing.drained(pool.name, observation.snapshot, pool.size).late_s
        then_s = sizing.drained(pool.name, observation.snapshot, size).late_s
        shorter = f", {_human(then_s)} with {executors(size)}" if size > pool.size else ""
        return f"results are late for {_human(now_s)}{shorter}"

    def _transfers(self, sizing: Sizing, pool: PoolView, size: int) -> tuple[Transfer, ...]:
        """Spread the substreams of a keyed operator by what arrived in the last while, not in the last turn alone."""
        name = pool.operators[0]
        owners = sizing.owners.get(name, ())
        if len(pool.operators) > 1 or not owners:
            return ()
        stay, following = pool.plan.executors[:size], pool.plan.next_executor
        return self._costs[name].shares.transfers(owners, (*stay, *range(following, following + size - len(stay))))


def _human(duration_s: float) -> str:
    return human(duration_s) if math.isfinite(duration_s) else "without bound"
