"""Cluster view: what the reconciler is given: what the cluster shows now, and the rules that never change."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.names import OperatorName, PoolName
from rheostat.spark.state.executor_book import PoolSite, SparkExecutor
from rheostat.spark.state.query_groups import Groups
from rheostat.topology import Topology

DEFAULT_PROFILE = 0
"""The id of the resource profile of executors that no pool asked for."""

RESERVED_EXECUTORS = 1
"""Executors outside all pools, for work that is no operator's, such as sources. Without any it would wait for ever."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster at one moment. `work` are the jobs and batches under way, `profiles` the resource profiles of sites,
    `warmed_up` executors whose warm-up has ended, `groups` the operators that share a query. `room` is how many
    executors the cluster can give to the application in all, None when that is not known."""

    executors: tuple[SparkExecutor, ...] = ()
    work: frozenset[str] = frozenset()
    profiles: Mapping[PoolSite, int] = field(default_factory=dict)
    warmed_up: frozenset[str] = frozenset()
    groups: Groups = ()
    room: int | None = None


@dataclass(frozen=True, slots=True)
class ReconcileRules:
    """What stays the same while the reconciler runs.

    `can_route`: executors can be kept free of work; if not, `why_fixed` says what that needs or what prevents it.
    `can_fuse`: queries can be fused and split. `nodes` pins whole pools to a node, until a plan has all of a pool
    elsewhere. `reserved` executors of the default profile are kept for work outside all pools, such as sources. It is
    None where the default profile is a pool's own: then executors of other profiles are not ours, and `others` is how
    many of them the application wants. `least` are the fewest executors of an operator, where that is not 1.
    """

    topology: Topology
    can_route: bool
    can_fuse: bool = False
    why_fixed: str = "that needs the JVM helpers"
    nodes: Mapping[PoolName, str] = field(default_factory=dict)
    reserved: int | None = RESERVED_EXECUTORS
    others: Mapping[int, int] = field(default_factory=dict)
    least: Mapping[OperatorName, int] = field(default_factory=dict)
    shortage_after_s: float = 15.0

    def minimum(self, operator: OperatorName) -> int:
        return self.least.get(operator, 1)
