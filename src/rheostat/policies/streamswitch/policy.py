"""StreamSwitch: latency guarantees for keyed operators by moving substreams first, and executors second.

Every slot δ it examines each operator, diagnoses it in two levels, and treats it by one unit strategy: substreams that
go from one executor to one other, an existing, a new or the only remaining one. It says nothing new about an operator
while a treatment is under way there, or while its state is not known.

Operators without substreams of their own, and operators that share a pool, are treated as if their load divided evenly
(see `even`). An executor that has failed keeps its number and its substreams: the plant gives the newest map to the one
that takes its place. Only when that fails for longer than the loop is patient a new executor takes them.
"""

from collections.abc import Callable, Sequence
from functools import partial

from rheostat.decision import Decision, Scale
from rheostat.errors import ConfigError
from rheostat.names import OperatorName, PoolName
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.streamswitch.bounds import Bounds
from rheostat.policies.streamswitch.capacity import Capacity
from rheostat.policies.streamswitch.diagnose import Diagnosis, Room, Treatment, diagnose
from rheostat.policies.streamswitch.even import diagnose_evenly
from rheostat.policies.streamswitch.executor import Executor
from rheostat.policies.streamswitch.failures import failed, replacement
from rheostat.policies.streamswitch.health import Thresholds
from rheostat.policies.streamswitch.hot_substreams import Complaints
from rheostat.policies.streamswitch.operator_state import NotKnownError, Patient
from rheostat.policies.streamswitch.options import StreamSwitchOptions
from rheostat.policies.streamswitch.roster import even_executors, keyed_executors
from rheostat.policies.streamswitch.service_rates import ServiceRates
from rheostat.policies.streamswitch.settings import thresholds
from rheostat.policies.streamswitch.treat import treat
from rheostat.policies.streamswitch.turns import Turns
from rheostat.sla import Goal

Diagnose = Callable[[PoolName, Sequence[Executor], Thresholds, Room], Diagnosis]
"""Which treatment the executors of a pool that serves one keyed operator need."""


def by_health(pool: PoolName, executors: Sequence[Executor], limits: Thresholds, room: Room) -> Diagnosis:
    """StreamSwitch's own two levels, whatever the pool's name."""
    return diagnose(executors, limits, room)


class StreamSwitch(Policy[StreamSwitchOptions]):
    """Examine, diagnose, treat. Another `diagnose` lets somebody else decide what keyed operators need."""

    name = "streamswitch"
    summary = "moves substreams between executors, and scales where moves do not help (StreamSwitch)"

    def __init__(self, goal: Goal, options: StreamSwitchOptions | None = None, diagnose: Diagnose = by_health) -> None:
        super().__init__(goal, options)
        self._diagnose = diagnose
        self._turns = Turns()
        self._bounds = Bounds(goal, self.options)
        self._patients = {
            name: Patient(operator, self.options, self._bounds.window_s(name))
            for name, operator in goal.topology.operators.items()
        }
        self._service: dict[PoolName, ServiceRates] = {}
        self._complaints = Complaints()

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
        for patient in self._patients.values():
            patient.examine(snapshot, plan, self._turns)
        self._judge_bounds()

    def _judge_bounds(self) -> None:
        """Share out the bounds that span several operators, in view of how well each keeps its own."""
        self._bounds.split({name: patient.floor_s for name, patient in self._patients.items()})
        successes: dict[OperatorName, float | None] = {}
        for name, patient in self._patients.items():
            if patient.state is not None and patient.state.measured and (bound_s := self._bound_s(name)) is not None:
                successes[name] = patient.state.success(bound_s)
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
            return replacement(pool) or self._treated(pool, observation, spare)
        except NotKnownError as reason:
            return pool.hold(str(reason))
        except ConfigError as error:
            return pool.hold(f"configuration: {error}")

    def _check(self, pool: PoolView) -> None:
        """Raise what keeps the pool's operators from being diagnosed now."""
        if pool.settling:
            gone = ", ".join(map(str, failed(pool)))
            raise NotKnownError(f"executor {gone} has failed and is waited for" if gone else "a treatment is under way")
        if self._turns.period_s is None:
            raise NotKnownError("the first look: rates are not known yet")
        for name in pool.operators:
            self._patients[name].check()

    def _treated(self, pool: PoolView, observation: Observation, spare: float) -> Decision:
        operator, numbers = pool.operators[0], pool.plan.executors
        limits = self._limits(pool)
        room = _room(pool, spare)
        patient = self._patients[operator]
        costs_s = [self._patients[name].batch_cost_s for name in pool.operators]
        cost_s = max((cost_s for cost_s in costs_s if cost_s is not None), default=None)
        capacity = partial(self._capacity, pool.name, cost_s)
        if len(pool.operators) == 1 and self.goal.topology.operators[operator].keyed:
            executors = keyed_executors(numbers, observation.plan.assignment[operator], patient.seen, capacity)
            diagnosis = self._diagnose(pool.name, executors, limits, room)
        else:
            executors = even_executors(numbers, [self._patients[name].seen for name in pool.operators], capacity)
            diagnosis = diagnose_evenly(executors, limits, room, patient.costs.at)
        if diagnosis.treatment is Treatment.SCALE_OUT and diagnosis.strategy is not None:
            self._service[pool.name].inherit(room.new, diagnosis.strategy.source)
        decision = treat(pool, executors, diagnosis, limits)
        return self._complaints.added(decision, pool.name, executors, diagnosis, limits)

    def _limits(self, pool: PoolView) -> Thresholds:
        """Of several operators that share a pool, the tightest."""
        rate = sum(self._rate(pool.name, number) for number in pool.plan.executors) / pool.size
        found: list[Thresholds] = []
        for name in pool.operators:
            if (latency_s := self._bounds.latency_s(name)) is not None:
                usual = Capacity(rate, self.options.epsilon, self._patients[name].batch_cost_s)
                found.append(thresholds(self.options, latency_s, usual))
        if not found:
            raise NotKnownError(f"no SLA concerns {', '.join(pool.operators)}: give one, or the option L")
        return min(found, key=lambda limits: limits.latency_s)

    def _capacity(self, pool: PoolName, batch_cost_s: float | None, executor: int) -> Capacity:
        return Capacity(self._rate(pool, executor), self.options.epsilon, batch_cost_s)

    def _rate(self, pool: PoolName, executor: int) -> float:
        rate = self._service[pool].rate(executor)
        if rate is None:
            raise NotKnownError(f"the service rate of executor {executor} is not known yet")
        return rate


def _room(pool: PoolView, spare: float) -> Room:
    more = pool.size < pool.bounds.most and spare >= 1
    return Room(pool.plan.next_executor, more=more, fewer=pool.size > pool.bounds.least)
