"""Fusing: neighbours in a chain whose executors are all on one node run in one query.

In Ra-Stream records cost nothing within a process. A chain is fused when all its executors are on one node and those
that stay can serve it; it is split again before its executors go to several nodes, or when they get too busy.
"""

from collections.abc import Iterator, Sequence
from math import inf

from rheostat.chain import why_no_chain
from rheostat.decision import Decision, Fuse, Place, Split
from rheostat.names import OperatorName, PoolName
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.rastream.monitor import ExecutorKey, FrameMonitor
from rheostat.topology import Topology

Group = tuple[OperatorName, ...]

_ROOM = 0.8
"""Operators are fused only below this share of the utilisation at which they are split again."""


def fusing(topology: Topology, observation: Observation, monitor: FrameMonitor, most_busy: float) -> list[Decision]:
    """Splits of the groups whose utilisation was above `most_busy`, else one fusion."""
    plan = observation.plan
    groups = [tuple(map(OperatorName, group)) for group in plan.fused]
    too_busy = [
        group for group in groups if _can_part(topology, group) and most_busy < _work(plan, monitor, group) < inf
    ]
    if too_busy:
        reason = f"utilisation of the fused executors > {most_busy:.0%}: split, with executors of their own"
        return [_split(plan, group, reason) for group in too_busy]
    for first, second in _neighbours(topology, plan):
        work = (_work(plan, monitor, first) * _size(plan, first)) / _size(plan, second) + _work(plan, monitor, second)
        if _are_on_one_node(observation, first, second) and work <= _ROOM * most_busy:
            reason = (
                f"{first[-1]!r} and {second[0]!r} are on one node, utilisation {work:.0%} <= {_ROOM * most_busy:.0%} "
                "together: fuse, no records between processes"
            )
            return [Fuse(operators=(*first, *second), reason=reason)]
    return []


def splitting_first(topology: Topology, observation: Observation, placing: Sequence[Place]) -> list[Decision]:
    """`placing`, with a split wherever the executors of fused operators would come to be on several nodes."""
    changed: list[Decision] = []
    for decision in placing:
        group = _group(observation.plan, observation.pools[decision.pool].operators[0])
        splits = _parts(observation, decision) and _can_part(topology, group)
        changed.append(_split(observation.plan, group, decision.reason) if splits else decision)
    return changed


def _parts(observation: Observation, decision: Place) -> bool:
    """Whether the pool would be on several nodes."""
    now = {state.id: state.node for state in observation.pools[decision.pool].active}
    then = {**now, **{number: spot.node for number, spot in decision.locations.items()}}
    return len(set(then.values())) > 1


def _can_part(topology: Topology, group: Group) -> bool:
    return why_no_chain(topology, group) is None


def _split(plan: Plan, group: Group, reason: str) -> Decision:
    return Split(operators=group, executors=_size(plan, group), reason=reason)


def _neighbours(topology: Topology, plan: Plan) -> Iterator[tuple[Group, Group]]:
    """Groups that feed each other and would be a chain together."""
    for stream in topology.streams:
        producer = OperatorName(stream.producer)
        if producer not in topology.operators:
            continue
        first, second = _group(plan, producer), _group(plan, stream.consumer)
        if first != second and why_no_chain(topology, (*first, *second)) is None:
            yield first, second


def _are_on_one_node(observation: Observation, *groups: Group) -> bool:
    """Whether all executors are on one node; where nodes are not known they count as one."""
    pools = {_pool(observation.plan, group) for group in groups}
    return len({state.node for pool in pools for state in observation.snapshot.active(pool)}) == 1


def _work(plan: Plan, monitor: FrameMonitor, group: Group) -> float:
    """The utilisation of the executors of a group over the frame; infinite where it is not known."""
    pool = _pool(plan, group)
    works = [monitor.working(ExecutorKey(pool, number)) for number in plan.pools[pool].executors]
    return sum(inf if work is None else work for work in works) / len(works)


def _group(plan: Plan, operator: OperatorName) -> Group:
    return tuple(map(OperatorName, plan.group(operator)))


def _pool(plan: Plan, group: Group) -> PoolName:
    return plan.pool_of[group[-1]]


def _size(plan: Plan, group: Group) -> int:
    return plan.pools[_pool(plan, group)].size
