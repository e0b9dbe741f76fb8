"""Ranked order for many stations: all are stepped together, and only gains that can still count are kept.

The s-th best of the gains seen so far is a lower bound of the s-th best of all, so a station whose last gain is below
it is done. Blocks double in width: the work is within a small factor of the number of executors.
"""

import numpy as np

from rheostat.queueing.allocation.bounded_models import BoundedModels, share_evenly
from rheostat.queueing.models.model import ConvexModel, Counts, Flags, Floats, Stack, StackType

_FIRST_WIDTH = 16
_MOST_CELLS = 1 << 22
"""Cells of a block: 32 MiB of doubles."""


class RankedOrder:
    """The best `spare` executors, ranked by gain, then by the order in which stations were declared."""

    def __init__(self, bounded: BoundedModels[ConvexModel], spare: int) -> None:
        self._bounded = bounded
        changes, stations = _best(_groups(bounded), spare)
        rank = np.lexsort((stations, changes))
        self._changes: Floats = changes[rank]
        self._stations: Counts = stations[rank]

    @property
    def changes(self) -> Floats:
        return self._changes

    def take(self, spare: int) -> list[int]:
        given = self._stations[:spare]
        executors: list[int] = (self._bounded.lowest + np.bincount(given, minlength=len(self._bounded.lowest))).tolist()
        share_evenly(executors, self._bounded.highest, spare - given.size)
        return executors


class _Group:
    """Stations of one family whose gains can still count."""

    def __init__(self, stack: Stack, stations: Counts, room: Floats) -> None:
        self._stack = stack
        self._stations = stations
        self._room = room
        self._last = np.zeros(stations.size)

    def advance(self, width: int, worst: float) -> tuple[Floats, Counts]:
        """The next `width` changes of each station, with their stations: those allowed and no worse than `worst`."""
        width = int(min(width, self._room.max(), max(1, _MOST_CELLS // self._stations.size)))
        changes = self._stack.block(width)
        allowed = np.arange(width)[:, np.newaxis] < self._room
        steps, columns = np.nonzero(allowed & (changes < 0.0) & (changes <= worst))
        self._room = self._room - width
        self._last = changes[-1]
        return changes[steps, columns], self._stations[columns]

    def narrow(self, worst: float) -> bool:
        """Drop the stations that are done; returns whether any is left."""
        going: Flags = (self._room > 0) & (self._last < 0.0) & (self._last <= worst)
        self._stack.keep(going)
        self._stations, self._room = self._stations[going], self._room[going]
        return bool(going.any())


def _groups(bounded: BoundedModels[ConvexModel]) -> list[_Group]:
    families: dict[StackType, list[int]] = {}
    for station, model in enumerate(bounded.models):
        if bounded.lowest[station] < bounded.highest[station]:
            families.setdefault(type(model).stack, []).append(station)
    return [_group(stack, stations, bounded) for stack, stations in families.items()]


def _group(stack: StackType, stations: list[int], bounded: BoundedModels[ConvexModel]) -> _Group:
    lowest = np.array([bounded.lowest[station] for station in stations], dtype=np.int64)
    highest = np.array([bounded.highest[station] for station in stations], dtype=np.float64)
    side_by_side = stack([bounded.models[station] for station in stations], lowest)
    return _Group(side_by_side, np.array(stations, dtype=np.int64), highest - lowest)


def _best(groups: list[_Group], spare: int) -> tuple[Floats, Counts]:
    """At least the best `spare` changes of all groups, or all if there are fewer, with their stations."""
    changes, stations = np.empty(0), np.empty(0, dtype=np.int64)
    width, worst = _FIRST_WIDTH, 0.0
    while groups and spare > 0:
        found = [group.advance(width, worst) for group in groups]
        changes = np.concatenate([changes, *(some for some, _ in found)])
        stations = np.concatenate([stations, *(some for _, some in found)])
        if changes.size >= spare:
            worst = float(np.partition(changes, spare - 1)[spare - 1])
            needed = changes <= worst
            changes, stations = changes[needed], stations[needed]
        groups = [group for group in groups if group.narrow(worst)]
        width *= 2
    return changes, stations
