"""How much of a core an executor can count on (DABS-Storm eq. 7 and 8)."""

from collections.abc import Sequence

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


def usable_by_pool(pool: str, iteration: Iteration, reserved: float, weight: float) -> float | None:
    """UtilCPU of an operator (eq. 8): the least over the executors that serve it; None where none was measured.

    An executor on a node shares its cores with the others there. One on no known node has a core of its own.
    """
    shares = [_usable(executor, iteration, reserved, weight) for executor in iteration.now.active(pool)]
    known = [share for share in shares if share is not None]
    return min(known) if known else None


def _usable(executor: ExecutorState, iteration: Iteration, reserved: float, weight: float) -> float | None:
    used = iteration.used(executor)
    if used is None:
        return None
    cores = _cores(executor, iteration)
    if cores is None:
        return usable_alone(used, reserved, weight)
    neighbours = [other for other in iteration.now.executors if other.node == executor.node and other.phase in _WORKING]
    idle = cores - sum(_used_or_nothing(neighbours, iteration))
    return usable_share(used, reserved, weight, idle, len(neighbours))


def _cores(executor: ExecutorState, iteration: Iteration) -> float | None:
    node = next((node for node in iteration.now.nodes if node.name == executor.node), None)
    return None if node is None else node.cores


def _used_or_nothing(executors: Sequence[ExecutorState], iteration: Iteration) -> list[float]:
    """A neighbour that is not known to have done anything is no reason to count on less."""
    return [iteration.used(executor) or 0.0 for executor in executors]
