"""Spark as the plant of the control loop: a topology's queries, observed and made to follow a plan.

A thread of its own follows the plan, so that telling it costs the control loop nothing and a new executor begins
to serve as soon as it is warm, not at the loop's next turn. Which operators share a query is followed beside it.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Self

from rheostat.capabilities import Capabilities
from rheostat.clock import WallClock
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, Snapshot
from rheostat.spark.act.no_pools import NoPools
from rheostat.spark.act.pools import PoolMember, Pools
from rheostat.spark.act.query_fusion import UNFUSED, Arrangeable, Arranger
from rheostat.spark.act.task_counts import Deal, Dealer
from rheostat.topology import Topology

_WHILE_CHANGING_S = 0.1
_WHILE_SETTLED_S = 1.0
_LOG = logging.getLogger(__name__)


class SparkPlant:
    """`pools` follow the plan from `start` to `stop`; `observe` is the meter's, `deal` and `queries` the runtime's."""

    def __init__(
        self,
        topology: Topology,
        pools: Pools | NoPools,
        observe: Callable[[], Snapshot],
        deal: Deal,
        queries: Arrangeable = UNFUSED,
        groupings: Callable[[], dict[OperatorName, tuple[str, ...]]] = dict,
    ) -> None:
        self._can_fuse, self._groupings = queries is not UNFUSED, groupings
        self._topology, self._pools, self._observe = topology, pools, observe
        self._arranger = Arranger(queries)
        self._dealer = Dealer(topology, deal)
        self._clock = WallClock()
        self._trouble: str | None = None
        self._refused: tuple[str, ...] = ()
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._follower = threading.Thread(target=self._follow, name="rheostat pools", daemon=True)

    @property
    def topology(self) -> Topology:
        return self._topology

    @property
    def clock(self) -> WallClock:
        return self._clock

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(can_fuse=self._can_fuse, can_place=self._pools.can_place, groupings=self._groupings())

    def start(self) -> Self:
        self._follower.start()
        return self

    def stop(self) -> None:
        """Follow no more. Executors stay as they are; the session's end, or `Pools.close`, ends them."""
        self._stopped.set()
        self._woken.set()
        if self._follower.is_alive():
            self._follower.join()
        self._arranger.close()

    def observe(self) -> Snapshot:
        return self._observe()

    def apply(self, plan: Plan) -> tuple[str, ...]:
        self._pools.follow(plan)
        self._woken.set()
        troubles = [trouble for trouble in (self._trouble, self._arranger.obstacle) if trouble is not None]
        return (*troubles, *self._refused, *self._pools.report.obstacles)

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        report = self._pools.report
        real = report.reached - self._arranger.differs_at(plan.fused) if report.plan == plan else frozenset()
        return plan.pools_within(real)

    def _follow(self) -> None:
        while not self._stopped.is_set():
            settled = self._step()
            self._woken.wait(_WHILE_SETTLED_S if settled else _WHILE_CHANGING_S)
            self._woken.clear()

    def _step(self) -> bool:
        try:
            now_s = self._clock.now()
            report = self._pools.step(now_s)
            self._arranger.follow(report.plan.fused, report.homes, now_s)
            self._refused = self._dealer.tell(report.plan, _serving_slots(report.members), self._arranger.fused)
        except Exception as error:  # the next step may succeed, and the queries go on anyway
            if self._trouble is None:
                _LOG.warning("the pools could not be looked after", exc_info=True)
            self._trouble = f"the pools could not be looked after: {error}"
            return True
        self._trouble = None
        return report.settled and not self._arranger.differs_at(report.plan.fused)


def _serving_slots(members: Iterable[PoolMember]) -> Counter[str]:
    """Task slots of the active executors, by pool."""
    slots: Counter[str] = Counter()
    for member in members:
        if member.phase is ExecutorPhase.ACTIVE:
            slots[member.pool] += 1 if member.spark is None else member.spark.slots
    return slots
