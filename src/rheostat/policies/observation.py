"""Observation: what a policy decides on, pool by pool and as a whole."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.decision import Decision, Effect, Hold, Scale, Transfer
from rheostat.measure.measures import Measures
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan, PoolPlan
from rheostat.sla import Budget, ExecutorBounds
from rheostat.snapshot import ExecutorPhase, ExecutorState, Snapshot

SETTLING = "settling after the last action: hold"
"""The reason to hold a pool whose last action is not finished."""


class NotMeasuredError(Exception):
    """Something that a policy has to know was not measured; the message says what. The policy holds."""


@dataclass(frozen=True, slots=True)
class PoolView:
    """One pool: the operators it serves, what the plan wants of it, what may be asked for, and its executors.

    `measured` are its operators without those that are fused behind others, of which nothing is measured. `useful` is
    the most executors that can all have work: a keyed operator has none for more than it has substreams. `spare` is how
    many executors budget and cluster leave for all pools together (infinite without a bound). `settling` says that the
    last action on the pool is not finished. `executors` are those that the plant has, in any phase.
    """

    name: PoolName
    operators: tuple[OperatorName, ...]
    measured: tuple[OperatorName, ...]
    plan: PoolPlan
    bounds: ExecutorBounds
    useful: int
    spare: float
    settling: bool
    executors: tuple[ExecutorState, ...]

    @property
    def size(self) -> int:
        """How many executors the plan wants to serve."""
        return self.plan.size

    @property
    def standby(self) -> int:
        """How many more the plan wants to be warm."""
        return self.plan.standby

    @property
    def active(self) -> tuple[ExecutorState, ...]:
        """The executors that serve now."""
        return tuple(state for state in self.executors if state.phase is ExecutorPhase.ACTIVE)

    def clamp(self, executors: float, spare: float | None = None) -> int:
        """The size nearest to `executors` that bounds and budget allow.

        Who gives executors to several pools says what is left of the budget: `spare`.
        """
        within_budget = self.size + max(0.0, self.spare if spare is None else spare)
        return self.bounds.clamp(min(executors, within_budget))

    def hold(self, reason: str, *, latency_s: float | None = None, utilisation: float | None = None) -> Hold:
        """Leave the pool as it is."""
        predicts = latency_s is not None or utilisation is not None
        effect = Effect(latency_s, utilisation, self.size) if predicts else None
        return Hold(pool=self.name, reason=reason, predicted=effect)

    def scale(
        self,
        executors: int,
        reason: str,
        *,
        latency_s: float | None = None,
        utilisation: float | None = None,
        leaving: tuple[int, ...] = (),
        transfers: tuple[Transfer, ...] = (),
        standby: int | None = None,
    ) -> Decision:
        """Have so many executors serve, with the effect that is predicted of it; a hold when nothing changes."""
        effect = Effect(latency_s, utilisation, executors)
        changes = leaving or transfers or standby not in (None, self.standby)
        if executors == self.size and not changes:
            return Hold(pool=self.name, reason=reason, predicted=effect)
        return Scale(
            pool=self.name,
            executors=executors,
            leaving=leaving,
            transfers=transfers,
            standby=standby,
            reason=reason,
            predicted=effect,
        )


class Observation(msgspec.Struct, frozen=True, dict=True):
    """Everything a policy may look at: what was measured, what it amounts to, and what is wanted so far.

    `settling` names the pools whose last action is not finished. `budget` is the goal's. `capabilities` is what the
    plant can do.
    """

    snapshot: Snapshot
    measures: Measures
    plan: Plan
    settling: frozenset[PoolName] = frozenset()
    budget: Budget = Budget()
    capabilities: Capabilities = Capabilities()

    @cached_property
    def pools(self) -> dict[PoolName, PoolView]:
        """The pools by name, in the order of the plan."""
        served: dict[PoolName, list[OperatorName]] = {pool: [] for pool in self.plan.pools}
        for operator, pool in self.plan.pool_of.items():
            served[pool].append(operator)
        return {pool: self._view(pool, tuple(operators)) for pool, operators in served.items() if operators}

    @cached_property
    def spare(self) -> float:
        """How many executors the budget leaves, and the cluster has room for; infinite without a bound."""
        total, room = self.budget.total, self.capabilities.room
        within_budget = math.inf if total is None else total - self.capabilities.reserved - self.plan.total
        within_room = math.inf if room is None else room - self.plan.total_with_standbys
        return float(min(within_budget, within_room))

    @cached_property
    def most_executors(self) -> float:
        """How many executors all pools together may have; infinite without a bound."""
        return self.plan.total + self.spare

    def decide_each(self, judge: Callable[[PoolView, float], Decision]) -> list[Decision]:
        """What `judge` decides about each pool, in the order of the plan, given what is left of `spare` by then."""
        spare = self.spare
        decisions: list[Decision] = []
        for pool in self.pools.values():
            decision = judge(pool, spare)
            spare -= decision.executors - pool.size if isinstance(decision, Scale) else 0
            decisions.append(decision)
        return decisions

    def hold_all(self, reason: str) -> list[Decision]:
        """A hold for every pool."""
        return [pool.hold(reason) for pool in self.pools.values()]

    def _view(self, name: PoolName, operators: tuple[OperatorName, ...]) -> PoolView:
        bounds = self.budget.bounds(operators)
        widths = [self._width(operator) for operator in operators]
        useful = min(bounds.most, max(widths)) if all(widths) else bounds.most
        return PoolView(
            name=name,
            operators=operators,
            measured=tuple(operator for operator in operators if operator not in self._unseen),
            plan=self.plan.pools[name],
            bounds=bounds,
            useful=max(bounds.least, useful),
            spare=self.spare,
            settling=name in self.settling,
            executors=self.snapshot.executors_of(name),
        )

    def _width(self, operator: OperatorName) -> int:
        """The most executors that can work on its records at once; 0 if it has no such limit."""
        state = self.snapshot.operators.get(operator)
        return len(self.plan.assignment.get(operator, ())) or (0 if state is None else state.width or 0)

    @cached_property
    def _unseen(self) -> frozenset[OperatorName]:
        return self.plan.unseen
