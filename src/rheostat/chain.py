"""Chains: operators that can be fused into one query, and split again, while they run.

Each reads one stream, which is all that the one before it writes and which no other operator reads. Only the last one
may be keyed: then no state but its own has to be kept when operators are fused or split.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from rheostat.errors import TopologyError, nearest
from rheostat.topology import Topology


def check_groups(topology: Topology, groups: Iterable[Sequence[str]], known: Collection[str], what: str) -> None:
    """Refuse names in `groups` that are not among the `known` ones, or that are in two groups."""
    seen: set[str] = set()
    for name in (name for group in groups for name in group):
        if name not in known:
            raise TopologyError(f"cannot {what} {name!r} in topology {topology.name!r}; {nearest(name, known)}")
        if name in seen:
            raise TopologyError(f"cannot {what} {name!r} twice: name it in one group")
        seen.add(name)


def in_flow_order(topology: Topology, group: Sequence[str]) -> tuple[str, ...]:
    """Producers first. Operators on a loop keep the order in which they are named."""
    ordered: list[str] = []
    waiting = list(group)
    while waiting:
        ready = next((name for name in waiting if not _feeders(topology, name) & set(waiting)), waiting[0])
        waiting.remove(ready)
        ordered.append(ready)
    return tuple(ordered)


def why_no_chain(topology: Topology, group: Sequence[str]) -> str | None:
    """Why the operators of `group` cannot be fused or split while they run; None if they can."""
    if sources := [name for name in group if name in topology.sources]:
        return f"{sources[0]!r} is a source: it can only be fused from the start"
    ordered = in_flow_order(topology, group)
    if len(ordered) < 2:
        return f"{', '.join(map(repr, ordered))} alone is not a chain: name at least two operators"
    (*before_last, _) = ordered
    if keyed := [name for name in before_last if topology.operators[name].keyed]:
        return f"{keyed[0]!r} is keyed: only the last operator of a chain may be, which is {ordered[-1]!r}"
    if len(topology.into(ordered[0])) != 1 or topology.into(ordered[0])[0].producer in ordered:
        return f"{ordered[0]!r} must read exactly one stream from outside the chain"
    gaps = [_gap(topology, producer, consumer) for producer, consumer in pairwise(ordered)]
    return next((gap for gap in gaps if gap is not None), None)


def _gap(topology: Topology, producer: str, consumer: str) -> str | None:
    if topology.operators[consumer].inputs != (producer,):
        return f"{consumer!r} must read the stream of {producer!r} and nothing else"
    others = sorted({stream.consumer for stream in topology.out_of(producer)} - {consumer})
    return f"{producer!r} is read by {', '.join(map(repr, others))} as well" if others else None


def _feeders(topology: Topology, name: str) -> set[str]:
    return {stream.producer for stream in topology.into(name)} - {name}
