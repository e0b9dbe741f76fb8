"""StreamSwitch: latency bounds for keyed operators by moving substreams first, and executors second.

In every time slot δ it examines each operator, diagnoses it by two levels, and acts by one strategy: substreams that go
from one executor to one other, which may be new, or may take over from one that leaves. It holds while a pool is
settling, and while the state of an operator is not known.

The executors of a stateless operator, and of operators that share a pool, are taken to have equal shares of the load
(see `diagnose.even`). An executor that has failed keeps its number and its substreams, and the plant replaces its
process; meanwhile the others are diagnosed without it, and none leaves. After a minute a new executor gets the
substreams.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from rheostat.decision import Decision, Scale
from rheostat.errors import ConfigError
from rheostat.names import OperatorName, PoolName
from rheostat.policies.observation import SETTLING, NotMeasuredError, Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.streamswitch.decisions import FailedExecutors, HotSubstreams, decide
from rheostat.policies.streamswitch.diagnose.even import diagnose_evenly
from rheostat.policies.streamswitch.diagnose.keyed import ActionKind, Diagnosis, SizeLimits, diagnose
from rheostat.policies.streamswitch.examine.examiner import ExaminedOperator
from rheostat.policies.streamswitch.examine.operator_monitor import OperatorMonitor, TurnCounter
from rheostat.policies.streamswitch.examine.service_rates import ServiceRates
from rheostat.policies.streamswitch.latency_bounds import LatencyBounds
from rheostat.policies.streamswitch.model.capacity import Capacity
from rheostat.policies.streamswitch.model.executor import ExecutorModel, Thresholds
from rheostat.policies.streamswitch.move_costs import MoveCosts
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.settings import thresholds
from rheostat.sla import Goal

CapacityOf = Callable[[int], Capacity]
"""The capacity of each executor, by its number."""

Diagnose = Callable[[PoolName, Sequence[ExecutorModel], Thresholds, SizeLimits], Diagnosis]
"""The action that the executors of a pool with one keyed operator need."""


def by_health(pool: PoolName, executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits) -> Diagnosis:
    """The two levels of StreamSwitch, whatever the pool's name."""
    return diagnose(executors, limits, allowed)


class StreamSwitch(Policy[StreamSwitchOptions]):
    """Examine, diagnose, decide. Another `diagnose` can be given to decide what keyed operators need."""

    name = "streamswitch"
    summary = "moves substreams between executors, and scales where moves do not help (StreamSwitch)"

    def __init__(self, goal: Goal, options: StreamSwitchOptions | None = None, diagnose: Diagnose = by_health) -> None:
        super().__init__(goal, options)
        self._diagnose = diagnose
        self._turns = TurnCounter()
        self._bounds = LatencyBounds(goal, self.options)
        self._monitors = {
            name: OperatorMonitor(operator, self.options, self._bounds.window_s(name))
            for name, operator in goal.topology.operators.items()
        }
        self._service: dict[PoolName, ServiceRates] = {}
        self._hot_substreams = HotSubstreams()
        self._failed = FailedExecutors()
        self._move_costs: dict[PoolName, MoveCosts] = {}

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool."""
        self._examine(observation)
        spare = observation.spare
        decisions: list[Decision] = []
        for pool in observation.pools.values():
            decision = self._decide(pool, observation, spare)
            spare -= max(0, decision.executors - pool.size) if isinstance(decision, Scale) else 0
            decisions.append(decision)
        return decisions

    def _examine(self, observation: Observation) -> None:
        snapshot, plan = observation.snapshot, observation.plan
        self._turns.update(snapshot.time_s)
        for pool in observation.pools.values():
            alone = len(pool.operators) == 1
            whole = observation.measures.operators[pool.operators[0]].service_rate if alone else None
            rates = self._service.setdefault(pool.name, ServiceRates(self.options.eta))
            rates.update(pool.executors, pool.plan.executors, whole)
            self._failed.update(pool, snapshot.time_s)
            if self._has_moves(pool):
                costs = self._move_costs.setdefault(pool.name, MoveCosts())
                costs.update(pool, plan.assignment[pool.operators[0]], snapshot.time_s)
        for monitor in self._monitors.values():
            monitor.update(snapshot, plan, self._turns)
        self._judge_bounds()

    def _judge_bounds(self) -> None:
        """Split the bounds for several operators, in view of how often each meets its own."""
        self._bounds.split({name: monitor.floor_s for name, monitor in self._monitors.items()})
        successes: dict[OperatorName, float | None] = {}
        for name, monitor in self._monitors.items():
            if monitor.state is not None and monitor.state.measured and (bound_s := self._bound_s(name)) is not None:
                successes[name] = monitor.state.success(bound_s)
        if successes:
            self._bounds.judge(successes)

    def _bound_s(self, operator: OperatorName) -> float | None:
        try:
            return self._bounds.latency_s(operator)
        except ConfigError:
            return None

    def _decide(self, pool: PoolView, observation: Observation, spare: float) -> Decision:
        try:
            self._check(pool)
            return self._failed.replacement(pool, observation.snapshot.time_s) or self._diagnosed(
                pool, observation, spare
            )
        except NotMeasuredError as reason:
            return pool.hold(str(reason))
        except ConfigError as error:
            return pool.hold(f"configuration: {error}")

    def _check(self, pool: PoolView) -> None:
        """Raise what keeps the pool's operators from being diagnosed now."""
        if pool.settling:
            raise NotMeasuredError(SETTLING)
        if self._turns.period_s is None:
            raise NotMeasuredError("rates are not known at the first turn: hold")
        for name in pool.operators:
            self._monitors[name].check()

    def _diagnosed(self, pool: PoolView, observation: Observation, spare: float) -> Decision:
        operator, numbers = pool.operators[0], _serving(pool)
        limits = self._limits(pool)
        allowed = _size_limits(pool, spare)
        monitor = self._monitors[operator]
        costs_s = [self._monitors[name].batch_cost_s for name in pool.operators]
        cost_s = max((cost_s for cost_s in costs_s if cost_s is not None), default=None)
        capacity = partial(self._capacity, pool.name, cost_s)
        if self._has_moves(pool):
            executors = keyed_executors(numbers, observation.plan.assignment[operator], monitor.examined, capacity)
            diagnosis = self._with_moves(pool, executors, limits, allowed)
        else:
            executors = even_executors(numbers, [self._monitors[name].examined for name in pool.operators], capacity)
            diagnosis = diagnose_evenly(executors, limits, allowed, monitor.costs.at)
        if diagnosis.action is ActionKind.SCALE_OUT and diagnosis.strategy is not None:
            self._service[pool.name].inherit(allowed.new, diagnosis.strategy.source)
        decision = decide(pool, executors, diagnosis, limits)
        return self._hot_substreams.explained(decision, pool.name, executors, diagnosis, limits)

    def _has_moves(self, pool: PoolView) -> bool:
        return len(pool.operators) == 1 and self.goal.topology.operators[pool.operators[0]].keyed

    def _with_moves(
        self, pool: PoolView, executors: Sequence[ExecutorModel], limits: Thresholds, allowed: SizeLimits
    ) -> Diagnosis:
        """What a pool with one keyed operator needs, moves that are worth their cost included."""
        operator, costs = pool.operators[0], self._move_costs[pool.name]
        costs.loaded(executors)
        window_s = self._bounds.window_s(operator)
        executors = [replace(each, pause_s=costs.pause_s(each.id, window_s)) for each in executors]
        return self._diagnose(pool.name, executors, limits, replace(allowed, moves=costs.terms(window_s)))

    def _limits(self, pool: PoolView) -> Thresholds:
        """The tightest of the operators that share the pool."""
        numbers = _serving(pool)
        rate = sum(self._rate(pool.name, number) for number in numbers) / len(numbers)
        found: list[Thresholds] = []
        for name in pool.operators:
            if (latency_s := self._bounds.latency_s(name)) is not None:
                usual = Capacity(rate, self.options.epsilon, self._monitors[name].batch_cost_s)
                found.append(thresholds(self.options, latency_s, usual))
        if not found:
            raise NotMeasuredError(f"there is no SLA for {', '.join(pool.operators)}: give one, or the option L")
        return min(found, key=lambda limits: limits.latency_s)

    def _capacity(self, pool: PoolName, batch_cost_s: float | None, executor: int) -> Capacity:
        return Capacity(self._rate(pool, executor), self.options.epsilon, batch_cost_s)

    def _rate(self, pool: PoolName, executor: int) -> float:
        rate = self._service[pool].rate(executor)
        if rate is None:
            raise NotMeasuredError(f"the service rate of executor {executor} was not measured yet")
        return rate


def _serving(pool: PoolView) -> tuple[int, ...]:
    """The executors of the plan that serve; all of them where the plant does not say, or none does."""
    active = {executor.id for executor in pool.active}
    return tuple(number for number in pool.plan.executors if number in active) or pool.plan.executors


def _size_limits(pool: PoolView, spare: float) -> SizeLimits:
    """None may leave while another is missing: its share of the load comes back with it."""
    more = pool.size < pool.bounds.most and spare >= 1
    fewer = pool.size > pool.bounds.least and len(_serving(pool)) == pool.size
    return SizeLimits(pool.plan.next_executor, more=more, fewer=fewer)


def keyed_executors(
    numbers: Sequence[int], assignment: Sequence[int], state: ExaminedOperator, capacity: CapacityOf
) -> list[ExecutorModel]:
    """Each of `numbers` with its substreams by `assignment`, which is what runs when the pool is not settling."""
    substreams = state.substreams()
    owned: dict[int, list[int]] = {number: [] for number in numbers}
    for index, number in enumerate(assignment):
        if number in owned:
            owned[number].append(index)
    return [
        ExecutorModel.serving(
            number, capacity(number), [substreams[index] for index in indices], state.latency_s(number, indices)
        )
        for number, indices in owned.items()
    ]


def even_executors(
    numbers: Sequence[int], states: Sequence[ExaminedOperator], capacity: CapacityOf
) -> list[ExecutorModel]:
    """All with the same share of everything that arrives, and the latency of the worst operator."""
    share = sum(float(state.arrival_rates.sum()) for state in states) / len(numbers)
    latency_s = max(state.overall_s() for state in states)
    return [ExecutorModel(number, capacity(number), share, latency_s) for number in numbers]
