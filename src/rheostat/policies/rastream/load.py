"""What every executor did over the frame, and which of its node's resources that filled."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rheostat.placement import Resources
from rheostat.placement.model.measured import task_shares
from rheostat.policies.rastream.monitor import Member, Monitor
from rheostat.snapshot import ExecutorState, NodeState

_FULL = 0.95
"""The share in use from which on a resource may hide that more of it is wanted."""


class Load(NamedTuple):
    """Records per second that reach an executor and that it completes, and what it uses: cores, memory, I/O.

    `full` names the resources that its node had nothing left of.
    """

    arriving: float
    completing: float | None
    use: Resources
    full: frozenset[str] = frozenset()


def loads(
    executors: Mapping[Member, ExecutorState], nodes: Sequence[NodeState], monitor: Monitor
) -> dict[Member, Load]:
    """The load of each executor, in the order of `executors`, all of which are on one of `nodes`."""
    found: dict[Member, Load] = {}
    for node in nodes:
        here = [member for member, state in executors.items() if state.node == node.name]
        found |= _on(node, supply(node, nodes), here, monitor) if here else {}
    return {member: found[member] for member in executors}


def supply(node: NodeState, nodes: Sequence[NodeState]) -> Resources:
    """Cores; memory in parts of the largest node's; I/O as it is."""
    largest = max((each.memory_bytes or 0 for each in nodes), default=0)
    memory = (node.memory_bytes or largest) / largest if largest else 1.0
    return Resources(node.cores or float(node.slots or 1), memory, 1.0)


def _on(node: NodeState, has: Resources, here: Sequence[Member], monitor: Monitor) -> dict[Member, Load]:
    """Processor as each executor used it itself, where it tells; else, and of the other resources, its share of its
    node's use (Ra-Stream eq. 3 to 5)."""
    arriving = {member: monitor.arriving(member) for member in here}
    used = Resources(*(monitor.use(node.name, resource) or 0.0 for resource in Resources._fields))
    shares = task_shares({str(member): rate for member, rate in arriving.items()}, used)
    cores = _cores({member: monitor.working(member) for member in here}, has.cpu)
    uses = {member: _use(shares[str(member)], has, cores[member]) for member in here}
    cpu = sum(use.cpu for use in uses.values()) / has.cpu if has.cpu > 0 else 0.0
    filled = {"cpu": cpu, "memory": used.memory, "io": used.io}
    full = frozenset(resource for resource, share in filled.items() if share >= _FULL)
    return {member: Load(arriving[member], monitor.completing(member), uses[member], full) for member in here}


def _cores(working: Mapping[Member, float | None], most: float) -> dict[Member, float | None]:
    """Executors that are busy on more cores than there are wait for each other part of that time."""
    together = sum(each or 0.0 for each in working.values())
    factor = min(1.0, most / together) if together > 0 else 1.0
    return {member: None if each is None else each * factor for member, each in working.items()}


def _use(share: Resources, has: Resources, cores: float | None) -> Resources:
    return Resources(share.cpu * has.cpu if cores is None else cores, share.memory * has.memory, share.io * has.io)
