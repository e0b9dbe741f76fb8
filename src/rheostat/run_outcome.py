"""Run outcome: whether every operator of a run has processed something. A run that has results of some looks like
success otherwise."""

from collections.abc import Mapping

from rheostat.errors import PlantError
from rheostat.loop.turn import Turn
from rheostat.names import OperatorName, PoolName
from rheostat.snapshot import Snapshot


class ServiceLog:
    """Listens to a controller and keeps which operators were served by executors, and which completed records."""

    def __init__(self) -> None:
        self._first: Snapshot | None = None
        self._last: Snapshot | None = None
        self._pool_of: Mapping[OperatorName, PoolName] = {}
        self._served: set[PoolName] = set()

    def __call__(self, turn: Turn) -> None:
        if turn.snapshot is None:
            return
        self._first = self._first or turn.snapshot
        self._last, self._pool_of = turn.snapshot, turn.plan.pool_of
        self._served |= {pool for pool in turn.plan.pools if any(turn.snapshot.active(pool))}

    def was_served(self, operator: str) -> bool:
        """Whether a pool of it has ever had an executor at work."""
        return self._pool_of.get(OperatorName(operator)) in self._served

    def has_completed(self, operator: str) -> bool:
        """Whether it completed records between the first turn and the last."""
        counts = [_completed(snapshot, OperatorName(operator)) for snapshot in (self._first, self._last)]
        return counts[0] < counts[1]


def check_all_ran(stalled: Mapping[str, int | None], log: ServiceLog) -> None:
    """Refuse to call it a success if an operator never ran; `stalled` has how many rows wait for it, if known."""
    idle = {name: rows for name, rows in stalled.items() if not log.has_completed(name)}
    if idle:
        which = "; ".join(_describe(name, rows, log) for name, rows in idle.items())
        raise PlantError(
            f"not every part of the topology ran: {which}. Give the cluster room for one executor for each operator, "
            "and the run more time; in the same directory it continues from here"
        )


def _describe(name: str, rows: int | None, log: ServiceLog) -> str:
    if rows is None:
        return f"source {name!r} finished no batch"
    why = "" if log.was_served(name) else " and no executor has served it"
    return f"operator {name!r} finished no batch, {rows:,} rows wait for it{why}"


def _completed(snapshot: Snapshot | None, operator: OperatorName) -> int:
    state = None if snapshot is None else snapshot.operators.get(operator)
    return 0 if state is None else state.completed or 0
