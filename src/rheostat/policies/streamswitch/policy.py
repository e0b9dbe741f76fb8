"""StreamSwitch: latency guarantees for keyed operators by moving substreams first, and executors second.

Every slot δ it examines each operator, diagnoses it in two levels, and treats it by one unit strategy: substreams that
go from one executor to one other, an existing, a new or the only remaining one. It says nothing new about an operator
while a treatment is under way there, or while its state is not known.

Operators without substreams of their own, and operators that share a pool, are treated as if their load divided evenly
(see `even`). An executor that has failed keeps its number and its substreams: the plant gives the newest map to the one
that takes its place. Only when that fails for longer than the loop is patient a new executor takes them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rheostat.decision import Decision, Hold, Scale
from rheostat.errors import ConfigError
from rheostat.plan import Plan
from rheostat.policies.policy import Observation, Policy
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

Diagnose = Callable[[str, Sequence[Executor], Thresholds, Room], Diagnosis]
"""Which treatment the executors of a keyed operator, given by its name, need."""


def by_health(operator: str, executors: Sequence[Executor], limits: Thresholds, room: Room) -> Diagnosis:
    """StreamSwitch's own two levels, whatever the operator's name."""
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
        self._service: dict[str, ServiceRates] = {}
        self._complaints = Complaints()

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """One decision for each pool, in the name of the first operator it serves."""
        served = _served(observation.plan)
        self._examine(observation, served)
        total = self.goal.budget.total
        spare = float("inf") if total is None else total - observation.plan.total
        decisions: list[Decision] = []
        for pool, operators in served.items():
            decision = self._decide(observation, pool, operators, spare)
            spare -= max(0, _growth(decision, observation))
            decisions.append(decision)
        return decisions

    def _examine(self, observation: Observation, served: Mapping[str, list[str]]) -> None:
        snapshot, plan = observation.snapshot, observation.plan
        self._turns.update(snapshot.time_s)
        for pool, operators in served.items():
            whole = observation.measures.operators[operators[0]].service_rate if len(operators) == 1 else None
            rates = self._service.setdefault(pool, ServiceRates(self.options.eta))
            rates.update(snapshot.executors_of(pool), plan.pools[pool].executors, whole)
        for patient in self._patients.values():
            patient.examine(snapshot, plan, self._turns)
        self._judge_bounds()

    def _judge_bounds(self) -> None:
        """Share out the bounds that span several operators, in view of how well each keeps its own."""
        self._bounds.split({name: patient.floor_s for name, patient in self._patients.items()})
        successes: dict[str, float | None] = {}
        for name, patient in self._patients.items():
            if patient.state is not None and patient.state.measured and (bound_s := self._bound_s(name)) is not None:
                successes[name] = patient.state.success(bound_s)
        if successes:
            self._bounds.judge(successes)

    def _bound_s(self, operator: str) -> float | None:
        try:
            return self._bounds.latency_s(operator)
        except ConfigError:
            return None

    def _decide(self, observation: Observation, pool: str, operators: list[str], spare: float) -> Decision:
        operator = operators[0]
        try:
            self._check(observation, pool, operators)
            replaced = replacement(observation, pool, operator)
            return replaced or self._treated(observation, pool, operators, spare)
        except NotKnownError as reason:
            return Hold(operator=operator, reason=str(reason))
        except ConfigError as error:
            return Hold(operator=operator, reason=f"configuration: {error}")

    def _check(self, observation: Observation, pool: str, operators: list[str]) -> None:
        """Raise what keeps these operators from being diagnosed now."""
        if observation.settling.intersection(operators):
            gone = ", ".join(map(str, failed(observation, pool)))
            raise NotKnownError(f"executor {gone} has failed and is waited for" if gone else "a treatment is under way")
        if self._turns.period_s is None:
            raise NotKnownError("the first look: rates are not known yet")
        for name in operators:
            self._patients[name].check()

    def _treated(self, observation: Observation, pool: str, operators: list[str], spare: float) -> Decision:
        operator, numbers = operators[0], observation.plan.pools[pool].executors
        limits = self._limits(numbers, pool, operators)
        room = self._room(observation, pool, operators, spare)
        patient = self._patients[operator]
        costs_s = [self._patients[name].batch_cost_s for name in operators]
        cost_s = max((cost_s for cost_s in costs_s if cost_s is not None), default=None)
        capacity = partial(self._capacity, pool, cost_s)
        if len(operators) == 1 and self.goal.topology.operators[operator].keyed:
            executors = keyed_executors(numbers, observation.plan.assignment[operator], patient.seen, capacity)
            diagnosis = self._diagnose(operator, executors, limits, room)
        else:
            executors = even_executors(numbers, [self._patients[name].seen for name in operators], capacity)
            diagnosis = diagnose_evenly(executors, limits, room, patient.costs.at)
        if diagnosis.treatment is Treatment.SCALE_OUT and diagnosis.strategy is not None:
            self._service[pool].inherit(room.new, diagnosis.strategy.source)
        decision = treat(operator, executors, diagnosis, limits)
        return self._complaints.added(decision, executors, diagnosis, limits)

    def _limits(self, numbers: Sequence[int], pool: str, operators: list[str]) -> Thresholds:
        """Of several operators that share a pool, the tightest."""
        rate = sum(self._rate(pool, number) for number in numbers) / len(numbers)
        found: list[Thresholds] = []
        for name in operators:
            if (latency_s := self._bounds.latency_s(name)) is not None:
                usual = Capacity(rate, self.options.epsilon, self._patients[name].batch_cost_s)
                found.append(thresholds(self.options, latency_s, usual))
        if not found:
            raise NotKnownError(f"no SLA concerns {', '.join(operators)}: give one, or the option L")
        return min(found, key=lambda limits: limits.latency_s)

    def _capacity(self, pool: str, batch_cost_s: float | None, executor: int) -> Capacity:
        return Capacity(self._rate(pool, executor), self.options.epsilon, batch_cost_s)

    def _rate(self, pool: str, executor: int) -> float:
        rate = self._service[pool].rate(executor)
        if rate is None:
            raise NotKnownError(f"the service rate of executor {executor} is not known yet")
        return rate

    def _room(self, observation: Observation, pool: str, operators: list[str], spare: float) -> Room:
        budget, wanted = self.goal.budget, observation.plan.pools[pool]
        size = len(wanted.executors)
        most = min(budget.maximum(each) for each in operators)
        least = max(budget.minimum(each) for each in operators)
        return Room(wanted.next_executor, more=size < most and spare >= 1, fewer=size > least)


def _served(plan: Plan) -> dict[str, list[str]]:
    """The operators that each pool serves, in the order of the pools."""
    served: dict[str, list[str]] = {pool: [] for pool in plan.pools}
    for operator, pool in plan.pool_of.items():
        served[pool].append(operator)
    return {pool: operators for pool, operators in served.items() if operators}


def _growth(decision: Decision, observation: Observation) -> int:
    return decision.executors - observation.plan.size(decision.operator) if isinstance(decision, Scale) else 0
