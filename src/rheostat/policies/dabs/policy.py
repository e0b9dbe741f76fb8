"""The policy: monitor an iteration, estimate the next one's volumes, and change degrees that do not fit them.

Everything comes from the measures of the observation. Where a plant does not know processor time, useful time stands
for it; where it does not know nodes, each executor is taken to have a core of its own.
"""

from collections.abc import Sequence

from rheostat.decision import Decision, Effect, Hold, Scale
from rheostat.describe import executors
from rheostat.policies.dabs.bottleneck import other_bottleneck
from rheostat.policies.dabs.monitor import Iteration, Monitor, NotKnownError
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.dabs.outlook import Outlooks, PoolNeed
from rheostat.policies.policy import Observation, Policy
from rheostat.policies.regroup import regroups
from rheostat.sla import Goal


class Dabs(Policy[DabsOptions]):
    """AUTOSCALE+ for the number of executors, with OSG to spread the records over them."""

    summary = "regressions over the topology set degrees ahead of the load, OSG balances (DABS-Storm)"

    def __init__(self, goal: Goal, options: DabsOptions | None = None) -> None:
        super().__init__(goal, options)
        self._monitor = Monitor(self.options)
        self._outlooks = Outlooks(goal.topology, self.options)
        for name in self.options.reservation if isinstance(self.options.reservation, dict) else ():
            goal.topology.operator(name)

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """Regroup first; then one decision for each pool, in the name of the first operator it serves."""
        self._monitor.see(observation)
        if spread := regroups(observation, self.options.grouping):
            return spread
        if observation.settling:
            return _hold_all(observation, "monitoring is off while a change settles")
        if (blind := self._monitor.blind()) is not None:
            return _hold_all(observation, blind)
        if not self._monitor.is_new(observation.snapshot.time_s):
            return _hold_all(observation, "waits for the next sample")
        return self._judge_all(observation, self._monitor.iteration())

    def _judge_all(self, observation: Observation, iteration: Iteration) -> list[Decision]:
        """Pool by pool, in the order of the plan, as far as the budget reaches."""
        plan, total = observation.plan, self.goal.budget.total
        spare = float("inf") if total is None else total - plan.total
        try:
            outlook = self._outlooks.after(iteration)
        except NotKnownError as unknown:
            return _hold_all(observation, str(unknown))
        decisions: list[Decision] = []
        for pool in plan.pools:
            if not plan.sharing(pool):
                continue
            try:
                decisions.append(self._judge(outlook.of(pool, plan), iteration, pool, spare))
            except NotKnownError as unknown:
                decisions.append(Hold(operator=plan.sharing(pool)[0], reason=str(unknown)))
            if isinstance(decided := decisions[-1], Scale):
                spare -= decided.executors - len(plan.pools[pool].executors)
        return decisions

    def _judge(self, it: PoolNeed, iteration: Iteration, pool: str, spare: float) -> Decision:
        operator, expected = it.operators[0], _expected(it)
        wanted = it.need.beyond(it.size, self.options.beta)
        if wanted is None:
            return Hold(operator=operator, reason=f"{expected}: {it.size} are right", predicted=_effect(it, it.size))
        if wanted > it.size and (limit := other_bottleneck(iteration.now, pool)):
            return Hold(operator=operator, reason=f"{expected}, but {limit}: more would not help")
        allowed = self._allowed(it, wanted, spare)
        if allowed == it.size:
            reason = f"{expected}, which would take {executors(wanted)}, but bounds and budget leave {it.size}"
            return Hold(operator=operator, reason=reason)
        reason = f"{expected}: {executors(allowed)} instead of {it.size}"
        return Scale(operator=operator, executors=allowed, reason=reason, predicted=_effect(it, allowed))

    def _allowed(self, it: PoolNeed, wanted: int, spare: float) -> int:
        budget = self.goal.budget
        most = min(*(budget.maximum(each) for each in it.operators), it.size + max(0.0, spare))
        least = max(budget.minimum(each) for each in it.operators)
        return int(max(least, min(wanted, most)))


def _hold_all(observation: Observation, reason: str) -> list[Decision]:
    pools = (observation.plan.sharing(pool) for pool in observation.plan.pools)
    return [Hold(operator=operators[0], reason=reason) for operators in pools if operators]


def _expected(it: PoolNeed) -> str:
    """ "1,200 records expected (40 wait already) are work for 2.31 executors"."""
    waiting = f" ({it.pending:,.0f} wait already)" if it.pending >= 1 else ""
    return f"{it.volume:,.0f} records expected{waiting} are work for {it.need.ideal:.2f} executors"


def _effect(it: PoolNeed, size: int) -> Effect:
    return Effect(utilisation=min(1.0, it.need.work_s / (it.need.iteration_s * size)), executors=size)
