"""Start times: how long executors take from their request until they serve, learned from the plan and the snapshots."""

from collections import deque

from rheostat.names import PoolName
from rheostat.policies.observation import PoolView
from rheostat.snapshot import ExecutorPhase

_ASSUMED_S = 10.0
_REMEMBERED = 10


class StartTimes:
    """Follows the executors of all pools."""

    def __init__(self) -> None:
        self._requested_s: dict[tuple[PoolName, int], float] = {}
        self._known: set[tuple[PoolName, int]] = set()
        self._taken_s: deque[float] = deque(maxlen=_REMEMBERED)

    def update(self, pools: dict[PoolName, PoolView], time_s: float) -> None:
        wanted = {(name, number) for name, pool in pools.items() for number in pool.plan.executors}
        active = {(each.pool, each.id) for pool in pools.values() for each in pool.executors if _serves(each.phase)}
        if self._known:
            for key in wanted - self._known:
                self._requested_s[key] = time_s
        self._known = wanted
        for key in list(self._requested_s):
            if key not in wanted:
                del self._requested_s[key]
            elif key in active:
                self._taken_s.append(time_s - self._requested_s.pop(key))

    @property
    def expected_s(self) -> float:
        """The mean of the last starts."""
        return sum(self._taken_s) / len(self._taken_s) if self._taken_s else _ASSUMED_S


def _serves(phase: ExecutorPhase) -> bool:
    return phase is ExecutorPhase.ACTIVE
