"""DABS-Storm: monitor an iteration, estimate the volumes of the next one, and change the sizes that do not fit them.

Where a plant does not measure processor time, useful time is used instead; where it does not know nodes, each executor
is taken to have a core of its own.
"""

from collections.abc import Mapping, Sequence

from rheostat.decision import Decision
from rheostat.describe import executors, resize
from rheostat.names import PoolName
from rheostat.policies.dabs.monitor import Iteration, IterationMonitor
from rheostat.policies.dabs.options import DabsOptions
from rheostat.policies.dabs.outlook import OutlookEstimator, PoolNeed
from rheostat.policies.observation import SETTLING, NotMeasuredError, Observation, PoolView
from rheostat.policies.policy import Policy
from rheostat.policies.regroup import regroups
from rheostat.policies.within_budget import shared_by_need, within_budget
from rheostat.sla import Goal
from rheostat.snapshot import Snapshot

_FULL_SHARE = 0.95
"""The share in use from which on memory or I/O is a bottleneck."""

_ALIKE = 0.1
"""In a shortage, sizes that differ by no more than this share, or by one, are as good as those that run."""


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
        """Each pool by its need; where the budget does not reach, it is shared by need as well."""
        sizes = {name: observation.plan.size(name) for name in self.goal.topology.operators}
        try:
            outlook = self._outlooks.after(iteration, sizes)
        except NotMeasuredError as missing:
            return observation.hold_all(str(missing))
        found: dict[PoolName, PoolNeed | str] = {}
        for pool in observation.pools.values():
            try:
                found[pool.name] = outlook.of(pool)
            except NotMeasuredError as missing:
                found[pool.name] = str(missing)
        given = self._shared(observation, {name: each for name, each in found.items() if isinstance(each, PoolNeed)})
        return [
            pool.hold(each)
            if isinstance(each := found[pool.name], str)
            else self._decision(pool, each, iteration, given)
            for pool in observation.pools.values()
        ]

    def _shared(self, observation: Observation, needs: Mapping[PoolName, PoolNeed]) -> dict[PoolName, int]:
        """The sizes that bounds and budget allow. In a shortage all that these pools have is shared by need."""
        pools = observation.pools
        beyond = {name: it.need.beyond(pools[name].size, self.options.beta) for name, it in needs.items()}
        wanted = {name: beyond[name] or pools[name].size for name in needs}
        if sum(number - pools[name].size for name, number in wanted.items()) <= observation.spare:
            return within_budget(observation, wanted)
        shared = shared_by_need(observation, {name: it.need.degree for name, it in needs.items()})
        sizes = {name: pools[name].size for name in needs}
        fits = all(it.need.work_s <= it.need.iteration_s * sizes[name] for name, it in needs.items())
        alike = all(abs(shared[name] - size) <= max(1.0, _ALIKE * size) for name, size in sizes.items())
        return sizes if fits and alike else shared

    def _decision(self, pool: PoolView, it: PoolNeed, iteration: Iteration, given: Mapping[PoolName, int]) -> Decision:
        expected, allowed = _expected(it), given[pool.name]
        wanted = it.need.beyond(pool.size, self.options.beta)
        low = self.options.beta * pool.size
        if allowed > pool.size and (limit := other_bottleneck(iteration.now, pool.name)):
            return pool.hold(f"{expected} > {pool.size}, but {limit}: hold, more executors would not help")
        if wanted is not None and allowed == pool.size:
            return pool.hold(
                f"{expected}, which needs {executors(wanted)}, but bounds and budget allow {pool.size}: hold"
            )
        if allowed == pool.size:
            fits = f"within [{low:.3g}, {pool.size}]"
            reserved = f"below {low:.3g}, but reservations need {executors(it.need.degree)}"
            reason = f"{expected}, {fits if it.need.ideal >= low else reserved}: hold"
            return pool.hold(reason, utilisation=it.utilisation(pool.size))
        utilisation = it.utilisation(allowed)
        action = f"{resize(pool.size, allowed)}, expected utilisation {utilisation:.0%}"
        why = (
            f"outside [{low:.3g}, {pool.size}]"
            if wanted is not None
            else "more than it needs while others lack executors"
        )
        return pool.scale(allowed, f"{expected}, {why}: {action}", utilisation=utilisation)


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
