"""Executor pools: the executors that a topology can have, and what is needed to see and to change them.

- `ProfilePools`: pools by resource profile, one for each pool of a plan. On a cluster.
- `NoExecutors`: none, on a local master, where one process does everything.
"""

import logging
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.act.actuators.executor_control import ExecutorControl
from rheostat.spark.act.actuators.resource_profiles import ResourceProfiles, executor_size
from rheostat.spark.act.actuators.warm_up import WarmUps
from rheostat.spark.act.cluster_room import StandaloneRoom
from rheostat.spark.act.cluster_view import DEFAULT_PROFILE, RESERVED_EXECUTORS, ClusterView, ReconcileRules
from rheostat.spark.act.execute import (
    Actuators,
    AllocationActuators,
    LocalityActuators,
    QueryActuators,
    StageActuators,
    StateActuators,
)
from rheostat.spark.act.pool_sites import first_book
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.state.executor_book import ExecutorBook, SparkExecutor
from rheostat.spark.state.query_groups import Groups
from rheostat.spark.state.stage_placement import Unplaced, stage_placement
from rheostat.topology import Topology

_LOG = logging.getLogger(__name__)


class ProfilePools:
    """The pools of `plan` by resource profile. Spark's dynamic allocation is stopped.

    `nodes` pins pools to nodes, by pool. `directory` is a place that all executors see, for warm-ups.
    """

    def __init__(
        self,
        spark: SparkSession,
        topology: Topology,
        plan: Plan,
        *,
        groups: Groups = (),
        nodes: Mapping[PoolName, str] | None = None,
        least: Mapping[OperatorName, int] | None = None,
        directory: str | None = None,
        can_fuse: bool = True,
        reserved: int = RESERVED_EXECUTORS,
        shortage_after_s: float = 15.0,
    ) -> None:
        self._spark, self._reserved = spark, reserved
        self._allocation = AllocationClient(spark)
        self.size = executor_size(spark)
        self._room = StandaloneRoom(spark, self.size)
        self.profiles = ResourceProfiles(spark, self._allocation, self.size)
        self._warm_ups = WarmUps(spark, directory)
        self.book = first_book(plan, groups, nodes or {})
        sites = {operator: self.book.pools[pool].serving for operator, pool in self.book.pool_of.items()}
        self.placement = stage_placement(
            spark, {operator: self.profiles.create(site) for operator, site in sites.items()}
        )
        if not self.placement.can_route:
            _LOG.warning(
                "without the JVM helpers there are no standbys, and new executors get work before they are warm"
            )
        self.rules = ReconcileRules(
            topology,
            can_route=self.placement.can_route,
            can_fuse=can_fuse,
            nodes=nodes or {},
            reserved=reserved,
            least=least or {},
            shortage_after_s=shortage_after_s,
        )
        self._control = ExecutorControl(spark, f"topology {topology.name!r}")
        self._control.take_over()

    def view(self, groups: Groups) -> ClusterView:
        executors = self._allocation.executors()
        return ClusterView(
            executors,
            self._allocation.work_under_way(),
            self.profiles.ids,
            self._warm_ups.finished(),
            groups,
            self._read_room(executors),
        )

    def room(self) -> int | None:
        """How many executors the cluster can give to the application in all; None when that is not known."""
        return self._read_room(self._allocation.executors())

    def actuators(self, runtime: Runtime) -> list[Actuators]:
        moves = [] if self.placement.can_route else [StateActuators(self._spark, runtime)]
        return [*self.executor_actuators(), *moves, QueryActuators(runtime)]

    def executor_actuators(self) -> list[Actuators]:
        """All that does not change queries."""
        stages = StageActuators(self.rules.topology, self.placement, self.profiles, self._warm_ups)
        return [stages, LocalityActuators(self._spark), AllocationActuators(self._allocation)]

    def _read_room(self, executors: Sequence[SparkExecutor]) -> int | None:
        reserved = [each for each in executors if each.profile == DEFAULT_PROFILE][: self._reserved]
        return self._room.read(len(executors), sum(max(0, each.slots - self.size.cores) for each in reserved))

    def close(self) -> None:
        """End all executors of the pools, busy or not."""
        self._control.end_pools(self._allocation, self.profiles.ids.values(), self._reserved)


class NoExecutors:
    """A local master: the number of tasks per batch stands for executors."""

    def __init__(self, topology: Topology, plan: Plan, *, can_fuse: bool = True) -> None:
        self.book, self.placement = ExecutorBook.of_local_master(plan), Unplaced()
        self.rules = ReconcileRules(
            topology, can_route=False, can_fuse=can_fuse, why_fixed="a local master has no executors", reserved=None
        )
        _LOG.warning("a local master has no executors to scale: the number of tasks per batch stands for them")

    def view(self, groups: Groups) -> ClusterView:
        return ClusterView(groups=groups)

    def actuators(self, runtime: Runtime) -> list[Actuators]:
        return [QueryActuators(runtime)]

    def close(self) -> None:
        """There is nothing to give back."""


def has_executors(spark: SparkSession) -> bool:
    """Whether the session's master has executors that can be added and removed."""
    master = str(spark.sparkContext.master)
    return not master.startswith("local") or master.startswith("local-cluster")
