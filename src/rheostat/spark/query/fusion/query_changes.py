"""Query changes: the smallest sets of queries to replace together so that other operators share a query."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rheostat.chain import in_flow_order, why_no_chain
from rheostat.errors import PlantError
from rheostat.topology import Topology

Parts = tuple[str, ...]
"""The names of the operators and sources in one query."""


@dataclass(frozen=True, slots=True)
class QueryChange:
    """The queries `before` are replaced by those `after`: the same operators, both in flow order."""

    before: tuple[Parts, ...]
    after: tuple[Parts, ...]

    def __str__(self) -> str:
        return f"{listed(self.before)} to {listed(self.after)}"


def changes_between(
    topology: Topology, before: Iterable[Sequence[str]], after: Iterable[Sequence[str]]
) -> tuple[QueryChange, ...]:
    """All changes from the queries `before` to those `after`; raises the reason if one is not possible."""
    now = {in_flow_order(topology, parts) for parts in before}
    then = {in_flow_order(topology, parts) for parts in after}
    changes: list[QueryChange] = []
    leaving, coming = now - then, then - now
    while leaving:
        change = _change_around(next(iter(sorted(leaving))), leaving, coming)
        leaving, coming = leaving - set(change.before), coming - set(change.after)
        changes.append(_checked_and_ordered(topology, change))
    return tuple(changes)


def listed(queries: Iterable[Sequence[str]]) -> str:
    return ", ".join("+".join(parts) for parts in queries)


def _change_around(start: Parts, leaving: Iterable[Parts], coming: Iterable[Parts]) -> QueryChange:
    """The queries that replace `start`, and the other queries that those replace."""
    names = set(start)
    while True:
        old = tuple(parts for parts in leaving if names & set(parts))
        new = tuple(parts for parts in coming if names & set(parts))
        reached = {name for parts in (*old, *new) for name in parts}
        if reached == names:
            return QueryChange(old, new)
        names = reached


def _checked_and_ordered(topology: Topology, change: QueryChange) -> QueryChange:
    names = [name for parts in change.before for name in parts]
    if (reason := why_no_chain(topology, names)) is not None:
        raise PlantError(f"cannot change {change} while it runs: {reason}")
    position = {name: index for index, name in enumerate(in_flow_order(topology, names))}
    before, after = (sorted(queries, key=lambda parts: position[parts[0]]) for queries in (change.before, change.after))
    return QueryChange(tuple(before), tuple(after))
