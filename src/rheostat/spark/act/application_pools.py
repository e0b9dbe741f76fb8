"""Application pools: the executors of an application that is attached to, as one pool.

- `DefaultPool`: all executors of the default profile, on a cluster.
- `DriverPool`: the driver, which is the only executor on a local master. Nothing can be changed there.
"""

import logging
from collections import Counter
from typing import Any, Protocol

from pyspark.sql import SparkSession

from rheostat.clock import Clock
from rheostat.describe import executors
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.act.actuators.dynamic_allocation import has_dynamic_allocation
from rheostat.spark.act.actuators.executor_control import ExecutorControl
from rheostat.spark.act.actuators.resource_profiles import executor_size
from rheostat.spark.act.cluster_room import StandaloneRoom
from rheostat.spark.act.cluster_view import DEFAULT_PROFILE, ClusterView, ReconcileRules
from rheostat.spark.act.execute import Actuators, AllocationActuators, FixedQueries, LocalityActuators
from rheostat.spark.act.pool_sites import first_book
from rheostat.spark.act.starting_size import START_TIMEOUT_S, StartingSize, asked_for, wait_until_settled
from rheostat.spark.state.executor_book import ExecutorBook, PoolSite, SparkExecutor
from rheostat.spark.state.query_groups import Groups
from rheostat.spark.state.stage_placement import StagePlacement, Unplaced
from rheostat.topology import Topology

_OWNER = "an attachment"
_LAST_REQUEST = "_rheostat_last_request"
"""An attribute of the context: how many executors the last attachment requested, where Spark does not change it."""

_LOG = logging.getLogger("rheostat")


class ApplicationPool(Protocol):
    """The executors of an application, as the pool of the only operator of a topology."""

    book: ExecutorBook
    placement: StagePlacement
    rules: ReconcileRules

    @property
    def stopped_dynamic_allocation(self) -> bool: ...

    @property
    def size(self) -> int:
        """How many executors are registered now."""
        ...

    def starting_size(self, least: int, clock: Clock) -> StartingSize:
        """How many executors there are until something is decided: as many as were asked for, at least `least`."""
        ...

    def view(self, groups: Groups) -> ClusterView: ...

    def actuators(self) -> list[Actuators]: ...

    def close(self) -> None: ...


class DefaultPool:
    """All executors of the default profile, as the pool of the only operator of `topology`.

    Executors of other profiles stay as they are. With `take_over` Spark's dynamic allocation is stopped, until `close`.
    """

    def __init__(self, spark: SparkSession, topology: Topology, *, take_over: bool) -> None:
        (operator,) = topology.operators
        self._spark, self._taken_over = spark, take_over
        self._site = PoolSite(PoolName(operator))
        self._last_view = ClusterView(profiles={self._site: DEFAULT_PROFILE})
        self._allocation = AllocationClient(spark)
        self._asked = self._asked_in_settings()
        is_sized = spark.sparkContext.getConf().contains("spark.executor.cores")
        self._room = StandaloneRoom(spark, executor_size(spark)) if is_sized else None
        self._control = ExecutorControl(spark, _OWNER)
        others = Counter(executor.profile for executor in self._allocation.executors())
        targets = self._control.take_over() if take_over else {}
        if self.stopped_dynamic_allocation:
            self._asked = targets.get(DEFAULT_PROFILE, 0)
        self.book = first_book(Plan.initial(topology), (), {})
        self.placement: StagePlacement = Unplaced()
        self.rules = ReconcileRules(
            topology,
            can_route=False,
            why_fixed="the queries of an attached application run on any executor",
            reserved=None,
            others={profile: n for profile, n in {**others, **targets}.items() if profile != DEFAULT_PROFILE},
            shortage_after_s=START_TIMEOUT_S,
        )

    @property
    def stopped_dynamic_allocation(self) -> bool:
        return self._control.had_dynamic_allocation

    @property
    def size(self) -> int:
        return sum(executor.profile == DEFAULT_PROFILE for executor in self._allocation.executors())

    def starting_size(self, least: int, clock: Clock) -> StartingSize:
        """Waits for executors to register where Spark gives the application all that it can."""
        if not self._taken_over:
            changes_by_itself = has_dynamic_allocation(self._spark)
            return StartingSize(None, timeout_s=0.0) if changes_by_itself else StartingSize(self._asked)
        if self._asked is None:
            wait_until_settled(lambda: self.size, clock)
            return StartingSize(None)
        present = max(self._asked, self.size)
        if present < least:
            _LOG.info("%s asked for, at least %d wanted: asking for %d", executors(present), least, least)
        # Dynamic allocation wants fewer than there are between two batches; it would replace none that fail.
        if present < least or self.stopped_dynamic_allocation:
            self._allocation.request({**self.rules.others, DEFAULT_PROFILE: max(present, least)})
        return StartingSize(max(present, least))

    def view(self, groups: Groups) -> ClusterView:
        """Once the application has ended, the last one: that it has ended is no failure."""
        if not self._control.has_ended:
            registered, work = self._allocation.executors(), self._allocation.work_under_way()
            room = None if self._room is None else self._room.read(len(registered))
            self._last_view = ClusterView(registered, work, {self._site: DEFAULT_PROFILE}, groups=groups, room=room)
        return self._last_view

    def actuators(self) -> list[Actuators]:
        return [LocalityActuators(self._spark), AllocationActuators(self._allocation), FixedQueries()]

    def close(self) -> None:
        """Let Spark allocate again if it did, starting from the executors there are now."""
        if self._control.has_ended:
            return
        if (requested := self._allocation.last_request.get(DEFAULT_PROFILE)) is not None:
            setattr(self._spark.sparkContext, _LAST_REQUEST, requested)
        targets = {**self.rules.others, DEFAULT_PROFILE: self.size} if self.stopped_dynamic_allocation else {}
        self._control.hand_back(targets)

    def _asked_in_settings(self) -> int | None:
        context, cores_max = self._spark.sparkContext, _executors_within_cores_max(self._spark)
        last = getattr(context, _LAST_REQUEST, None)
        return asked_for(str(context.master), context.getConf().get, target=last, cores_max=cores_max)


class DriverPool:
    """A local master: the driver is the only executor, with its cores as slots."""

    stopped_dynamic_allocation = False
    size = 1

    def __init__(self, spark: SparkSession, topology: Topology) -> None:
        (operator,) = topology.operators
        self._site = PoolSite(PoolName(operator))
        self._driver = _driver(spark)
        self._control = ExecutorControl(spark, _OWNER)
        self.book = first_book(Plan.initial(topology), (), {})
        self.placement: StagePlacement = Unplaced()
        self.rules = ReconcileRules(
            topology, can_route=False, why_fixed="a local master has one process", reserved=None
        )

    def starting_size(self, least: int, clock: Clock) -> StartingSize:
        return StartingSize(self.size)

    def view(self, groups: Groups) -> ClusterView:
        return ClusterView((self._driver,), profiles={self._site: DEFAULT_PROFILE}, groups=groups)

    def actuators(self) -> list[Actuators]:
        return [FixedQueries()]

    def close(self) -> None:
        self._control.release()


def _driver(spark: SparkSession) -> SparkExecutor:
    context: Any = spark.sparkContext._jsc.sc()
    summary = context.statusStore().executorSummary("driver")
    return SparkExecutor(summary.id(), summary.hostPort(), DEFAULT_PROFILE, summary.maxTasks())


def _executors_within_cores_max(spark: SparkSession) -> int | None:
    """What `spark.cores.max` leaves room for; None where it is not set, or the size of an executor is not known."""
    conf = spark.sparkContext.getConf()
    cores, each = conf.get("spark.cores.max"), conf.get("spark.executor.cores")
    return int(cores) // int(each) if cores and each else None
