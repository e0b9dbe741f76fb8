"""Executor load: what each executor did and used over the frame, and what it needs to keep up.

A full node shows what it has, not what is asked of it: its use stays at 1, and records take longer because they wait
for each other. So what a record costs is remembered from when nodes were not full.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rheostat.placement import Resources
from rheostat.placement.model.measured import task_shares, trimmed_mean
from rheostat.policies.rastream.monitor import ExecutorKey, FrameMonitor
from rheostat.snapshot import ExecutorState, NodeState

_FULL = 0.95
"""The share in use from which on a resource may hide that more of it is wanted."""


class ExecutorLoad(NamedTuple):
    """Records per second that reach an executor and that it completes, and what it uses: cores, memory, I/O.

    `full` lists the resources that were used up on its node.
    """

    arriving: float
    completing: float | None
    use: Resources
    full: frozenset[str] = frozenset()


def loads(
    executors: Mapping[ExecutorKey, ExecutorState], nodes: Sequence[NodeState], monitor: FrameMonitor
) -> dict[ExecutorKey, ExecutorLoad]:
    """The load of each executor, in the order of `executors`, all of which are on one of `nodes`."""
    found: dict[ExecutorKey, ExecutorLoad] = {}
    for node in nodes:
        here = [member for member, state in executors.items() if state.node == node.name]
        found |= _on(node, supply(node, nodes), here, monitor) if here else {}
    return {member: found[member] for member in executors}


def supply(node: NodeState, nodes: Sequence[NodeState]) -> Resources:
    """Cores; memory in parts of the largest node's; I/O as it is."""
    largest = max((each.memory_bytes or 0 for each in nodes), default=0)
    memory = (node.memory_bytes or largest) / largest if largest else 1.0
    return Resources(node.cores or float(node.slots or 1), memory, 1.0)


def _on(
    node: NodeState, has: Resources, here: Sequence[ExecutorKey], monitor: FrameMonitor
) -> dict[ExecutorKey, ExecutorLoad]:
    """Processor time as each executor measures it; where it does not, and for other resources, its share of its node's
    use (Ra-Stream eq. 3 to 5)."""
    arriving = {member: monitor.arriving(member) for member in here}
    used = Resources(*(monitor.use(node.name, resource) or 0.0 for resource in Resources._fields))
    shares = task_shares({str(member): rate for member, rate in arriving.items()}, used)
    cores = _cores({member: monitor.working(member) for member in here}, has.cpu)
    uses = {member: _use(shares[str(member)], has, cores[member]) for member in here}
    cpu = sum(use.cpu for use in uses.values()) / has.cpu if has.cpu > 0 else 0.0
    filled = {"cpu": cpu, "memory": used.memory, "io": used.io}
    full = frozenset(resource for resource, share in filled.items() if share >= _FULL)
    return {member: ExecutorLoad(arriving[member], monitor.completing(member), uses[member], full) for member in here}


def _cores(working: Mapping[ExecutorKey, float | None], most: float) -> dict[ExecutorKey, float | None]:
    """Executors that are busy on more cores than there are wait for each other part of that time."""
    together = sum(each or 0.0 for each in working.values())
    factor = min(1.0, most / together) if together > 0 else 1.0
    return {member: None if each is None else each * factor for member, each in working.items()}


def _use(share: Resources, has: Resources, cores: float | None) -> Resources:
    return Resources(share.cpu * has.cpu if cores is None else cores, share.memory * has.memory, share.io * has.io)


_BY_RECORD = ("cpu", "io")
"""What records use; memory is held whether they come or not."""


class ResourcePrices:
    """Cores and I/O that a record per second costs each pool, from the last frame in which its nodes had some left."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], float] = {}

    def learn(self, loads: Mapping[ExecutorKey, ExecutorLoad]) -> None:
        """Update the trimmed mean over the executors of each pool whose nodes are not full."""
        samples: dict[tuple[str, str], list[float]] = {}
        for member, load in loads.items():
            for resource in _BY_RECORD:
                if load.completing and resource not in load.full:
                    price = getattr(load.use, resource) / load.completing
                    samples.setdefault((member.pool, resource), []).append(price)
        for key, seen in samples.items():
            self._known[key] = trimmed_mean(seen) or 0.0

    def need(self, member: ExecutorKey, load: ExecutorLoad) -> Resources:
        """What the executor would use if it kept up with everything that reaches it."""
        return Resources(self._need(member, load, "cpu"), load.use.memory, self._need(member, load, "io"))

    def _need(self, member: ExecutorKey, load: ExecutorLoad, resource: str) -> float:
        """By the price of its own use; on a full node by the remembered one, but no less than it uses."""
        used: float = getattr(load.use, resource)
        known = self._known.get((member.pool, resource))
        if resource in load.full and known is not None:
            return max(known * load.arriving, used)
        return used * load.arriving / load.completing if load.completing else used
