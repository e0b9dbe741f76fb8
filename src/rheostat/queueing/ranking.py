"""The best order for many stations: all are stepped together, and only gains that can still count are kept.

The s-th best of the gains seen so far bounds the s-th best of all from below, so a station whose last gain
lies beneath it is done. Blocks double in width: the work is within a small factor of the executors given.
"""

import numpy as np

from rheostat.queueing.deal import deal
from rheostat.queueing.lanes import Lanes
from rheostat.queueing.model import Counts, FallingModel, Flags, Floats, Stack, StackType

_FIRST_WIDTH = 16
_MOST_CELLS = 1 << 22
"""Cells of a block: 32 MiB of doubles."""


class RankedOrder:
    """The best `spare` executors, ranked by gain, then by the order in which stations were declared."""

    def __init__(self, lanes: Lanes[FallingModel], spare: int) -> None:
        self._lanes = lanes
        changes, stations = _best(_groups(lanes), spare)
        rank = np.lexsort((stations, changes))
        self._changes: Floats = changes[rank]
        self._stations: Counts = stations[rank]

    @property
    def changes(self) -> Floats:
        return self._changes

    def take(self, spare: int) -> list[int]:
        given = self._stations[:spare]
        executors: list[int] = (self._lanes.lowest + np.bincount(given, minlength=len(self._lanes.lowest))).tolist()
        deal(executors, self._lanes.highest, spare - given.size)
        return executors


class _Group:
    """Stations of one family that are still in the running."""

    def __init__(self, stack: Stack, stations: Counts, room: Floats) -> None:
        self._stack = stack
        self._stations = stations
        self._room = room
        self._last = np.zeros(stations.size)

    def advance(self, width: int, worst: float) -> tuple[Floats, Counts]:
        """The next `width` changes of each station that are allowed and no worse than `worst`, with their stations."""
        width = int(min(width, self._room.max(), max(1, _MOST_CELLS // self._stations.size)))
        changes = self._stack.block(width)
        allowed = np.arange(width)[:, np.newaxis] < self._room
        steps, columns = np.nonzero(allowed & (changes < 0.0) & (changes <= worst))
        self._room = self._room - width
        self._last = changes[-1]
        return changes[steps, columns], self._stations[columns]

    def narrow(self, worst: float) -> bool:
        """Leave out the stations that are done; whether any is left."""
        going: Flags = (self._room > 0) & (self._last < 0.0) & (self._last <= worst)
        self._stack.keep(going)
        self._stations, self._room = self._stations[going], self._room[going]
        return bool(going.any())


def _groups(lanes: Lanes[FallingModel]) -> list[_Group]:
    families: dict[StackType, list[int]] = {}
    for station, model in enumerate(lanes.models):
        if lanes.lowest[station] < lanes.highest[station]:
            families.setdefault(type(model).stack, []).append(station)
    return [_group(stack, stations, lanes) for stack, stations in families.items()]


def _group(stack: StackType, stations: list[int], lanes: Lanes[FallingModel]) -> _Group:
    lowest = np.array([lanes.lowest[station] for station in stations], dtype=np.int64)
    highest = np.array([lanes.highest[station] for station in stations], dtype=np.float64)
    side_by_side = stack([lanes.models[station] for station in stations], lowest)
    return _Group(side_by_side, np.array(stations, dtype=np.int64), highest - lowest)


def _best(groups: list[_Group], spare: int) -> tuple[Floats, Counts]:
    """At least the best `spare` changes of all groups, as far as there are so many, with their stations."""
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
