"""Settling pools: the pools on which no other action may begin yet, because the last one is not finished.

A pool that is as planned except for executors that do not serve is not left alone for long. One that served before has
failed, and the others can be treated meanwhile. A new one is waited for until `start_timeout_s` has passed: a cluster
that is slow, or short of executors, must not block decisions about what runs.
"""

from collections.abc import Iterable

from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.snapshot import ExecutorPhase, Snapshot


class SettlingPools:
    """Follows how long each pool has not been as planned, and which executors have served.

    After `action_timeout_s` no pool blocks any more, whatever it waits for.
    """

    def __init__(self, action_timeout_s: float, start_timeout_s: float) -> None:
        self._action_timeout_s = action_timeout_s
        self._start_timeout_s = min(start_timeout_s, action_timeout_s)
        self._since_s: dict[PoolName, float] = {}
        self._served: dict[PoolName, set[int]] = {}

    def begin(self, pools: Iterable[PoolName], time_s: float) -> None:
        """An action on these pools begins."""
        self._since_s.update(dict.fromkeys(pools, time_s))

    def blocked(
        self, unreached: frozenset[PoolName], plan: Plan, snapshot: Snapshot, time_s: float
    ) -> frozenset[PoolName]:
        """The pools of `unreached` on which no other action may begin yet."""
        self._since_s = {pool: self._since_s.get(pool, time_s) for pool in unreached}
        for pool in plan.pools:
            self._served.setdefault(pool, set()).update(each.id for each in snapshot.active(pool))
        return frozenset(
            pool for pool, since_s in self._since_s.items() if time_s - since_s < self._timeout_s(pool, plan, snapshot)
        )

    def _timeout_s(self, pool: PoolName, plan: Plan, snapshot: Snapshot) -> float:
        missing = set(plan.pools[pool].executors) - {each.id for each in snapshot.active(pool)}
        if not missing or not _as_planned_without(missing, pool, plan, snapshot):
            return self._action_timeout_s
        return self._start_timeout_s if missing - self._served[pool] else 0.0


def _as_planned_without(missing: set[int], pool: PoolName, plan: Plan, snapshot: Snapshot) -> bool:
    """Whether only the `missing` executors keep `pool` from being as planned, as far as the snapshot shows it."""
    wanted = plan.pools[pool]
    for executor in snapshot.executors_of(pool):
        if executor.phase is ExecutorPhase.LEAVING or (executor.id >= 0 and executor.id not in wanted.executors):
            return False
        location = wanted.locations.get(executor.id)
        if location is not None and executor.id not in missing and executor.node not in (None, location.node):
            return False
    return all(_is_assigned_and_grouped(operator, missing, plan, snapshot) for operator in plan.sharing(pool))


def _is_assigned_and_grouped(operator: OperatorName, missing: set[int], plan: Plan, snapshot: Snapshot) -> bool:
    owners = plan.assignment.get(operator, ())
    for substream in snapshot.substreams_of(operator):
        if owners and owners[substream.index] not in missing and substream.executor != owners[substream.index]:
            return False
    state, grouping = snapshot.operators.get(operator), plan.grouping.get(operator)
    return state is None or grouping is None or state.grouping in (None, grouping)
