"""Substream assignment: an even spread of substreams over executors with few moves, since every move pauses records."""

from bisect import bisect_left, insort
from collections.abc import Sequence

_GRAIN = 1e-9
"""Substreams with less than this share of the load are not moved: the gain would be lost in rounding."""

_GAIN = 1e-6
"""A move must narrow the gap by more than this share of it, or two substreams might be swapped again and again."""


def spread_evenly(
    owners: Sequence[int],
    executors: Sequence[int],
    loads: Sequence[float] | None = None,
    *,
    only_orphans: bool = False,
) -> tuple[int, ...]:
    """Assign every substream to one of `executors` with few moves: first the orphans, heaviest first, each to the least
    loaded executor; then, while that narrows the gap, from the most to the least loaded one.

    With `only_orphans` the other substreams stay, since the decision has assigned them.
    """
    known = loads is not None and len(loads) == len(owners) and sum(loads) > 0
    spread = _Spread(executors, [max(load, 0.0) for load in loads] if known and loads else [1.0] * len(owners))
    orphans = [index for index, executor in enumerate(owners) if executor not in spread.load]
    for index, executor in enumerate(owners):
        if executor in spread.load:
            spread.give(index, executor)
    for index in sorted(orphans, key=lambda i: -spread.weight[i]):
        spread.adopt(index)
    while not only_orphans and spread.narrow():
        pass
    return tuple(spread.owner[index] for index in range(len(owners)))


class _Spread:
    """The substreams of each executor in the order of their weight."""

    def __init__(self, executors: Sequence[int], weight: Sequence[float]) -> None:
        self.weight = weight
        self._grain = _GRAIN * sum(weight)
        self.load = dict.fromkeys(executors, 0.0)
        self.owner: dict[int, int] = {}
        self._members: dict[int, list[tuple[float, int]]] = {executor: [] for executor in executors}

    def give(self, index: int, executor: int) -> None:
        self.owner[index] = executor
        self.load[executor] += self.weight[index]
        insort(self._members[executor], (self.weight[index], index))

    def adopt(self, index: int) -> None:
        """Quiet substreams go to the executor with the fewest: the least loaded one would get all of them."""
        quiet = self.weight[index] == 0
        self.give(index, min(self.load, key=lambda e: (0 if quiet else self.load[e], len(self._members[e]))))

    def narrow(self) -> bool:
        """Move the substream that narrows the gap between the most and the least loaded most, if one does."""
        most, least = max(self.load, key=self.load.__getitem__), min(self.load, key=self.load.__getitem__)
        chosen = self._nearest_half(most, self.load[most] - self.load[least])
        if chosen is None:
            return False
        del self._members[most][bisect_left(self._members[most], chosen)]
        self.load[most] -= chosen[0]
        self.give(chosen[1], least)
        return True

    def _nearest_half(self, executor: int, gap: float) -> tuple[float, int] | None:
        """Half of the gap would close it, all of it only reverses it: the weight in between nearest to half."""
        members = self._members[executor]
        above = bisect_left(members, (gap / 2, -1))
        candidates = members[above : above + 1]
        if above:
            candidates.append(members[bisect_left(members, (members[above - 1][0], -1))])
        fitting = [member for member in candidates if self._grain < member[0] < gap * (1 - _GAIN)]
        return min(fitting, key=lambda member: (abs(gap / 2 - member[0]), member[1]), default=None)
