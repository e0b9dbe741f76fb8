"""DABS-Storm: monitor an iteration, estimate the volumes of the next one, and change the sizes that do not fit them.

Where a plant does not measure processor time, useful time is used instead; where it does not know nodes, each executor
is taken to have a core of its own.
"""

from collections.abc import Sequence

from rheostat.decision import Decision
from rheostat.describe import executors, resize
from rheostat.names import PoolName
from rheostat.policies.dabs.monitor import Iteration, IterationMonitor
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.dabs.outlook import OutlookEstimator, PoolNeed
from rheostat.policies.observation import SETTLING, NotMeasuredError, Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.regroup import regroups
from rheostat.sla import Goal
from rheostat.snapshot import Snapshot

_FULL_SHARE = 0.95
"""The share in use from which on memory or I/O is a bottleneck."""


class Dabs(Policy[DabsOptions]):
    """AUTOSCALE+ for the number of executors, with OSG to spread the records over them."""

    summary = "scales ahead of the load by trends along the topology, and spreads records by their cost (DABS-Storm)"

    def __init__(self, goal: Goal, options: DabsOptions | None = None) -> None:
        super().__init__(goal, options)
        self._monitor = IterationMonitor(self.options)
        self._outlooks = OutlookEstimator(goal.topology, self.options)
        goal.topology.operators.check(self.options.reservation if isinstance(self.options.reservation, dict) else ())

    def decide(self, observation: Observation) -> Sequence[Decision]:
        """Regroup first; then one decision for each pool."""
        self._monitor.update(observation)
        if spread := regroups(observation, self.options.grouping):
            return spread
        if observation.settling:
            return observation.hold_all(SETTLING)
        if (wait := self._monitor.why_wait()) is not None:
            return observation.hold_all(wait)
        if not self._monitor.is_new(observation.snapshot.time_s):
            return observation.hold_all("between two samples: hold")
        return self._judge_all(observation, self._monitor.iteration())

    def _judge_all(self, observation: Observation, iteration: Iteration) -> list[Decision]:
        """Pool by pool, in the order of the plan, as far as the budget reaches."""
        try:
            outlook = self._outlooks.after(iteration)
        except NotMeasuredError as missing:
            return observation.hold_all(str(missing))

        def judge(pool: PoolView, spare: float) -> Decision:
            try:
                return self._judge(pool, outlook.of(pool), iteration, spare)
            except NotMeasuredError as missing:
                return pool.hold(str(missing))

        return observation.decide_each(judge)

    def _judge(self, pool: PoolView, it: PoolNeed, iteration: Iteration, spare: float) -> Decision:
        expected = _expected(it)
        wanted = it.need.beyond(pool.size, self.options.beta)
        low = self.options.beta * pool.size
        if wanted is None:
            fits = f"within [{low:.3g}, {pool.size}]"
            reserved = f"below {low:.3g}, but reservations need {executors(it.need.degree)}"
            reason = f"{expected}, {fits if it.need.ideal >= low else reserved}: hold"
            return pool.hold(reason, utilisation=it.utilisation(pool.size))
        if wanted > pool.size and (limit := other_bottleneck(iteration.now, pool.name)):
            return pool.hold(f"{expected} > {pool.size}, but {limit}: hold, more executors would not help")
        allowed = pool.clamp(wanted, spare)
        if allowed == pool.size:
            return pool.hold(
                f"{expected}, which needs {executors(wanted)}, but bounds and budget allow {pool.size}: hold"
            )
        utilisation = it.utilisation(allowed)
        action = f"{resize(pool.size, allowed)}, expected utilisation {utilisation:.0%}"
        reason = f"{expected}, outside [{low:.3g}, {pool.size}]: {action}"
        return pool.scale(allowed, reason, utilisation=utilisation)


def _expected(it: PoolNeed) -> str:
    """ "1,200 records expected (40 of them backlog), work for 2.31 executors"."""
    backlog = f" ({it.pending:,.0f} of them backlog)" if it.pending >= 1 else ""
    return f"{it.volume:,.0f} records expected{backlog}, work for {it.need.ideal:.2f} executors"


def other_bottleneck(snapshot: Snapshot, pool: PoolName) -> str | None:
    """Which memory or I/O is full on a node on which executors of `pool` run; None if none is. AUTOSCALE+ has formulas
    for processors only."""
    nodes = {executor.node for executor in snapshot.active(pool)}
    for node in snapshot.nodes:
        for what, share in (("memory", node.memory), ("I/O", node.io)):
            if node.name in nodes and share is not None and share >= _FULL_SHARE:
                return f"{what} of node {node.name!r} is at {share:.0%}"
    return None
