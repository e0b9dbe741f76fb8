"""Usable cores: how much of a core an executor can count on (DABS-Storm eq. 7 and 8)."""

from rheostat.names import PoolName
from rheostat.policies.dabs.monitor import Iteration
from rheostat.snapshot import ExecutorPhase, ExecutorState

_WORKING = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)


def usable_share(used: float, reserved: float, weight: float, idle: float, threads: int) -> float:
    """UtilCPU of a thread (eq. 7): λ of what it uses or has reserved, and an equal part of what its core has idle.

    The printed sum leaves the thread itself out of what is used, so that more than a core could be counted on: here
    `idle` is what all `threads` together leave of the core, and the result is at most a core.
    """
    return min(1.0, weight * max(used, reserved) + max(0.0, idle) / threads)


def usable_alone(used: float, reserved: float, weight: float) -> float:
    """The same for a thread that has a core to itself."""
    return usable_share(used, reserved, weight, 1.0 - used, 1)


class UsableCores:
    """What executors left idle of the cores of each node over an iteration."""

    def __init__(self, iteration: Iteration) -> None:
        self._iteration = iteration
        self._idle = {node.name: node.cores for node in iteration.now.nodes if node.cores is not None}
        self._threads = dict.fromkeys(self._idle, 0)
        for executor in iteration.now.executors:
            if executor.node in self._idle and executor.phase in _WORKING:
                self._idle[executor.node] -= iteration.used(executor) or 0.0
                self._threads[executor.node] += 1

    def usable_by_pool(self, pool: PoolName, reserved: float, weight: float) -> float | None:
        """UtilCPU of an operator (eq. 8): the least over the executors that serve it; None where none was measured.

        An executor on a node shares its cores with the others there. One on no known node has a core of its own.
        """
        shares = [self._usable(executor, reserved, weight) for executor in self._iteration.now.active(pool)]
        known = [share for share in shares if share is not None]
        return min(known) if known else None

    def _usable(self, executor: ExecutorState, reserved: float, weight: float) -> float | None:
        used = self._iteration.used(executor)
        if used is None:
            return None
        if executor.node not in self._idle:
            return usable_alone(used, reserved, weight)
        return usable_share(used, reserved, weight, self._idle[executor.node], self._threads[executor.node])
