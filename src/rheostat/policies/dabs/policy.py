"""The policy: monitor an iteration, estimate the next one's volumes, and change degrees that do not fit them.

Everything comes from the measures of the observation. Where a plant does not know processor time, useful time stands
for it; where it does not know nodes, each executor is taken to have a core of its own.
"""

from collections.abc import Sequence

from rheostat.decision import Decision, Scale
from rheostat.describe import executors
from rheostat.policies.dabs.bottleneck import other_bottleneck
from rheostat.policies.dabs.monitor import Iteration, Monitor, NotKnownError
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.dabs.outlook import Outlooks, PoolNeed
from rheostat.policies.observation import Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.regroup import regroups
from rheostat.sla import Goal


class Dabs(Policy[DabsOptions]):
    """AUTOSCALE+ for the number of executors, with OSG to spread the records over them."""

    summary = "regressions over the topology set degrees ahead of the load, OSG balances (DABS-Storm)"

    def __init__(self, goal: Goal, options: DabsOptions | None = None) -> None:
        super().__init__(goal, options)
        self._monitor = Monitor(self.options)
        self._outlooks = Outlooks(goal.topology, self.options)
        goal.topology.operators.check(self.options.reservation if isinstance(self.options.reservation, dict) else ())

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """Regroup first; then one decision for each pool."""
        self._monitor.see(observation)
        if spread := regroups(observation, self.options.grouping):
            return spread
        if observation.settling:
            return observation.hold_all("monitoring is off while a change settles")
        if (blind := self._monitor.blind()) is not None:
            return observation.hold_all(blind)
        if not self._monitor.is_new(observation.snapshot.time_s):
            return observation.hold_all("waits for the next sample")
        return self._judge_all(observation, self._monitor.iteration())

    def _judge_all(self, observation: Observation, iteration: Iteration) -> list[Decision]:
        """Pool by pool, in the order of the plan, as far as the budget reaches."""
        try:
            outlook = self._outlooks.after(iteration)
        except NotKnownError as unknown:
            return observation.hold_all(str(unknown))
        spare = observation.spare
        decisions: list[Decision] = []
        for pool in observation.pools.values():
            try:
                decision = self._judge(pool, outlook.of(pool), iteration, spare)
            except NotKnownError as unknown:
                decision = pool.hold(str(unknown))
            spare -= decision.executors - pool.size if isinstance(decision, Scale) else 0
            decisions.append(decision)
        return decisions

    def _judge(self, pool: PoolView, it: PoolNeed, iteration: Iteration, spare: float) -> Decision:
        expected = _expected(it)
        wanted = it.need.beyond(pool.size, self.options.beta)
        if wanted is None:
            return pool.hold(f"{expected}: {pool.size} are right", utilisation=it.utilisation(pool.size))
        if wanted > pool.size and (limit := other_bottleneck(iteration.now, pool.name)):
            return pool.hold(f"{expected}, but {limit}: more would not help")
        allowed = pool.clamp(wanted, spare)
        if allowed == pool.size:
            return pool.hold(
                f"{expected}, which would take {executors(wanted)}, but bounds and budget leave {pool.size}"
            )
        reason = f"{expected}: {executors(allowed)} instead of {pool.size}"
        return pool.scale(allowed, reason, utilisation=it.utilisation(allowed))


def _expected(it: PoolNeed) -> str:
    """ "1,200 records expected (40 wait already) are work for 2.31 executors"."""
    waiting = f" ({it.pending:,.0f} wait already)" if it.pending >= 1 else ""
    return f"{it.volume:,.0f} records expected{waiting} are work for {it.need.ideal:.2f} executors"
