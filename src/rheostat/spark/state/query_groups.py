"""Query groups: which operators share a query now. The runtime writes it, the reconciler reads it."""

from collections.abc import Iterable, Sequence

Groups = tuple[tuple[str, ...], ...]
"""Operators that share a query, in the order of the flow; sources may be among them. Others have one of their own."""


class QueryGroups:
    """The groups of one topology's running queries."""

    def __init__(self, groups: Iterable[Sequence[str]] = ()) -> None:
        self.set(groups)

    def set(self, groups: Iterable[Sequence[str]]) -> None:
        self.now: Groups = tuple(tuple(group) for group in groups if len(group) > 1)


def group_of(operator: str, groups: Groups) -> tuple[str, ...]:
    """All that shares a query with `operator`, itself included."""
    return next((group for group in groups if operator in group), (operator,))


def differing(now: Groups, wanted: Groups) -> frozenset[str]:
    """The operators that share a query with others than in `wanted`; the order within a group does not matter."""
    names = {name for group in (*now, *wanted) for name in group}
    return frozenset(name for name in names if set(group_of(name, now)) != set(group_of(name, wanted)))
