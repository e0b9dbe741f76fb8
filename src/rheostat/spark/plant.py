"""Spark plant: Spark as the control loop sees it. The meter observes, the reconciler acts; they share only state."""

from typing import Protocol

from rheostat.capabilities import Capabilities
from rheostat.clock import Clock
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot
from rheostat.spark.act.reconciler import Reconciler
from rheostat.topology import Topology


class SnapshotReader(Protocol):
    """What the plant needs of a meter."""

    def read(self) -> Snapshot: ...

    def groupings(self) -> dict[OperatorName, tuple[str, ...]]:
        """How the records of each operator can be spread now."""
        ...


class SparkPlant:
    """A topology that runs, or an application that is attached to."""

    def __init__(self, meter: SnapshotReader, reconciler: Reconciler) -> None:
        self._meter, self._reconciler = meter, reconciler

    @property
    def topology(self) -> Topology:
        return self._reconciler.rules.topology

    @property
    def capabilities(self) -> Capabilities:
        rules = self._reconciler.rules
        return Capabilities(
            can_fuse=rules.can_fuse,
            can_place=rules.can_route,
            groupings=self._meter.groupings(),
            room=self._reconciler.room,
            short=self._reconciler.short,
            reserved=rules.reserved or 0,
        )

    @property
    def clock(self) -> Clock:
        return self._reconciler.clock

    def observe(self) -> Snapshot:
        return self._meter.read()

    def apply(self, plan: Plan) -> tuple[str, ...]:
        return self._reconciler.follow(plan)

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        return self._reconciler.reached(plan)
