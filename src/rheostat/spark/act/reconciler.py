"""Reconciler: a thread that keeps comparing the plan with what runs, and has done what is missing.

Following the plan in a thread of its own costs the control loop nothing, and a new executor serves as soon as it is
warm, not at the loop's next turn.
"""

import logging
import threading
from typing import Protocol

from rheostat.clock import Clock
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.spark.act.cluster_view import ClusterView, ReconcileRules
from rheostat.spark.act.execute import Execution
from rheostat.spark.act.plan_progress import is_settled, reached
from rheostat.spark.act.reconcile import reconcile
from rheostat.spark.state.query_groups import Groups
from rheostat.spark.state.spark_state import SparkState

_WHILE_CHANGING_S = 0.1
_WHILE_SETTLED_S = 1.0
_LOG = logging.getLogger(__name__)


class ClusterReader(Protocol):
    """Shows the cluster, when these `groups` of operators share a query."""

    def view(self, groups: Groups) -> ClusterView: ...


class Reconciler:
    """Follows `plan` from `start` to `stop`; without one it only keeps the book, until it is told to `follow` one."""

    def __init__(
        self,
        state: SparkState,
        cluster: ClusterReader,
        execution: Execution,
        rules: ReconcileRules,
        clock: Clock,
        plan: Plan | None = None,
    ) -> None:
        self.rules, self.clock = rules, clock
        self._state, self._cluster, self._execution, self._plan = state, cluster, execution, plan
        self._obstacles: tuple[str, ...] = ()
        self._failure: str | None = None
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="rheostat reconciler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Follow no more. Executors stay as they are."""
        self._stopped.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()
        self._execution.close()

    def follow(self, plan: Plan) -> tuple[str, ...]:
        """Work towards `plan` from now on; returns what stood in the way at the last attempt."""
        self._plan = plan
        self._woken.set()
        return self._obstacles if self._failure is None else (self._failure, *self._obstacles)

    def reached(self, plan: Plan) -> frozenset[PoolName]:
        """The pools for which what runs is what `plan` wants."""
        return reached(plan, self._state.book, self._state.groups.now)

    @property
    def room(self) -> int | None:
        """How many executors the cluster can give to all pools together; None when that is not known."""
        return self._state.book.room

    @property
    def short(self) -> frozenset[PoolName]:
        """The pools that have all that they can get, and less than is planned."""
        return self._state.book.short

    def step(self) -> bool:
        """Compare and act once; returns whether nothing is left to be done."""
        plan, now_s = self._plan, self.clock.now()
        view = self._cluster.view(self._state.groups.now)
        if plan is None:
            self._state.book = reconcile(view, self._plan_of_present(view), self._state.book, now_s, self.rules).book
            return True
        result = reconcile(view, plan, self._state.book, now_s, self.rules)
        refused = self._execution.run(result.instructions, now_s)
        result.book.groupings = self._execution.groupings
        self._state.book, self._obstacles = result.book, (*refused, *result.obstacles)
        return is_settled(plan, result.book, self._state.groups.now)

    def _plan_of_present(self, view: ClusterView) -> Plan:
        """The executors there are, as a plan."""
        ours = set(view.profiles.values())
        present = sum(executor.profile in ours for executor in view.executors)
        return Plan.initial(self.rules.topology, max(1, present))

    def _run(self) -> None:
        while not self._stopped.is_set():
            settled = self._try_step()
            self._woken.wait(_WHILE_SETTLED_S if settled else _WHILE_CHANGING_S)
            self._woken.clear()

    def _try_step(self) -> bool:
        try:
            settled = self.step()
        except Exception as error:  # the next attempt may succeed, and the queries go on anyway
            if self._failure is None:
                _LOG.warning("the plan could not be reconciled with the cluster", exc_info=True)
            self._failure = f"the plan could not be reconciled with the cluster: {error}"
            return True
        self._failure = None
        return settled
