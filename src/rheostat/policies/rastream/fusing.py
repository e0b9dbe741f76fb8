"""Which operators run in one process: neighbours in a chain whose executors are all in one place.

Ra-Stream has records cost nothing within a process. There a chain is fused as soon as all its executors are on one
node and those that stay can carry it; it is split again before its executors part, or when they get too busy.
"""

from collections.abc import Iterator, Mapping
from math import inf

from rheostat.chain import why_no_chain
from rheostat.decision import Decision, Fuse, Place, Split
from rheostat.plan import Plan
from rheostat.policies.policy import Observation
from rheostat.policies.rastream.monitor import Member, Monitor
from rheostat.topology import Topology

_ROOM = 0.8
"""Fused operators are to be this much less busy than what splits them again, so that they are not at once."""


def fusing(topology: Topology, observation: Observation, monitor: Monitor, most_busy: float) -> dict[str, Decision]:
    """Splits of those whose executors were busier than `most_busy`, else a fusion; by the operator decided on."""
    plan = observation.plan
    too_busy = [group for group in plan.fused if _can_part(topology, group) and _work(plan, monitor, group) > most_busy]
    if too_busy:
        reason = f"the executors are busy for more than {most_busy:.0%} of the time"
        return {group[-1]: _split(plan, group, reason) for group in too_busy}
    for first, second in _neighbours(topology, plan):
        work = (_work(plan, monitor, first) * _size(plan, first)) / _size(plan, second) + _work(plan, monitor, second)
        if _is_one_place(observation, first, second) and work <= _ROOM * most_busy:
            reason = f"{first[-1]!r} and {second[0]!r} are in one place, which is busy for {work:.0%} with both"
            return {second[-1]: Fuse(operator=second[-1], others=(*first, *second[:-1]), reason=reason)}
    return {}


def splitting_first(
    topology: Topology, observation: Observation, placing: Mapping[str, Decision]
) -> dict[str, Decision]:
    """`placing`, with a split wherever the executors of fused operators would come to be on several nodes."""
    changed = dict(placing)
    for name, decision in placing.items():
        group = observation.plan.group(name)
        if isinstance(decision, Place) and _parts(observation, decision) and _can_part(topology, group):
            changed[name] = _split(observation.plan, group, decision.reason)
    return changed


def _parts(observation: Observation, decision: Place) -> bool:
    """Whether the pool would be on several nodes."""
    now = {state.id: state.node for state in observation.snapshot.active(observation.plan.pool_of[decision.operator])}
    then = {**now, **{number: spot.node for number, spot in decision.locations.items()}}
    return len(set(then.values())) > 1


def _can_part(topology: Topology, group: tuple[str, ...]) -> bool:
    return why_no_chain(topology, group) is None


def _split(plan: Plan, group: tuple[str, ...], reason: str) -> Decision:
    return Split(operator=group[-1], executors=plan.size(group[-1]), reason=reason)


def _neighbours(topology: Topology, plan: Plan) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Groups that feed each other and would be a chain together."""
    for stream in topology.streams:
        if stream.producer not in topology.operators:
            continue
        first, second = plan.group(stream.producer), plan.group(stream.consumer)
        if first != second and why_no_chain(topology, (*first, *second)) is None:
            yield first, second


def _is_one_place(observation: Observation, *groups: tuple[str, ...]) -> bool:
    """Whether all executors are on one node; where the plant tells no nodes every place is the same."""
    pools = {observation.plan.pool_of[group[-1]] for group in groups}
    return len({state.node for pool in pools for state in observation.snapshot.active(pool)}) == 1


def _work(plan: Plan, monitor: Monitor, group: tuple[str, ...]) -> float:
    """How busy the executors of a group were over the frame; without end where that is not known."""
    pool = plan.pool_of[group[-1]]
    works = [monitor.working(Member(pool, number)) for number in plan.pools[pool].executors]
    return sum(inf if work is None else work for work in works) / len(works)


def _size(plan: Plan, group: tuple[str, ...]) -> int:
    return plan.size(group[-1])
