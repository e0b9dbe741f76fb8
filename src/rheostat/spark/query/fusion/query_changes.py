"""What must change for other operators to share a query: the smallest sets of queries that are replaced together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rheostat.chain import in_flow_order, why_no_chain
from rheostat.errors import PlantError
from rheostat.topology import Topology

Parts = tuple[str, ...]
"""What is in one query."""


@dataclass(frozen=True, slots=True)
class Change:
    """The queries `before` become those `after`: the same operators, in the order of the flow."""

    before: tuple[Parts, ...]
    after: tuple[Parts, ...]

    def __str__(self) -> str:
        return f"{_listed(self.before)} to {_listed(self.after)}"


def changes_between(
    topology: Topology, before: Iterable[Sequence[str]], after: Iterable[Sequence[str]]
) -> tuple[Change, ...]:
    """All changes from one way to share queries to another; those that are not possible are refused by name."""
    now = {in_flow_order(topology, parts) for parts in before}
    then = {in_flow_order(topology, parts) for parts in after}
    changes: list[Change] = []
    going, coming = now - then, then - now
    while going:
        change = _around(next(iter(sorted(going))), going, coming)
        going, coming = going - set(change.before), coming - set(change.after)
        changes.append(_in_order(topology, change))
    return tuple(changes)


def _around(start: Parts, going: Iterable[Parts], coming: Iterable[Parts]) -> Change:
    """The queries that `start` is replaced with, and the others that those replace."""
    names = set(start)
    while True:
        old = tuple(parts for parts in going if names & set(parts))
        new = tuple(parts for parts in coming if names & set(parts))
        reached = {name for parts in (*old, *new) for name in parts}
        if reached == names:
            return Change(old, new)
        names = reached


def _in_order(topology: Topology, change: Change) -> Change:
    names = [name for parts in change.before for name in parts]
    if (reason := why_no_chain(topology, names)) is not None:
        raise PlantError(f"{change} cannot be changed while it runs: {reason}")
    position = {name: index for index, name in enumerate(in_flow_order(topology, names))}
    before, after = (sorted(queries, key=lambda parts: position[parts[0]]) for queries in (change.before, change.after))
    return Change(tuple(before), tuple(after))


def _listed(queries: Sequence[Parts]) -> str:
    return ", ".join("+".join(parts) for parts in queries)
