"""Which pool serves each operator now: the plan's, or until that one can the one before.

A query runs in one pool. Operators that share a query go to another pool together or not at all, so that those which
are to be split stay where they are until they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rheostat.names import OperatorName, PoolName

Together = Callable[[], Iterable[Sequence[str]]]
"""The groups of operators that share a query at this moment; sources may be among them."""


class Homes:
    """Of all operators of a plan, at first those that `pool_of` says; of a group that of its last operator."""

    def __init__(self, pool_of: Mapping[OperatorName, PoolName], together: Together) -> None:
        self._together = together
        self._home_of = {name: pool_of[group[-1]] for group in self._groups(pool_of) for name in group}

    def __getitem__(self, operator: OperatorName) -> PoolName:
        return self._home_of[operator]

    def of_all(self) -> dict[OperatorName, PoolName]:
        return dict(self._home_of)

    def at(self, pool: PoolName) -> list[OperatorName]:
        """The operators that `pool` serves."""
        return [operator for operator, home in self._home_of.items() if home == pool]

    def move(
        self, pool_of: Mapping[OperatorName, PoolName], is_ready: Callable[[PoolName], bool]
    ) -> list[OperatorName]:
        """Have those go where `pool_of` wants them that can go now; who that is."""
        moved: list[OperatorName] = []
        for group in self._groups(pool_of):
            target = pool_of[group[-1]]
            agreed = all(pool_of[name] == target for name in group)
            away = [name for name in group if self._home_of[name] != target]
            if away and agreed and is_ready(target):
                self._home_of |= dict.fromkeys(away, target)
                moved += away
        return moved

    def _groups(self, pool_of: Mapping[OperatorName, PoolName]) -> list[list[OperatorName]]:
        """Every operator in one group, those of a query together."""
        shared = [[name for name in map(OperatorName, group) if name in pool_of] for group in self._together()]
        grouped = {name for group in shared for name in group}
        return [*(group for group in shared if group), *([name] for name in pool_of if name not in grouped)]
