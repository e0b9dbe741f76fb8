"""The best order for a few stations: a heap of their next changes, one executor at a time (DRS Algorithm 1)."""

import math
from collections.abc import Callable
from heapq import heapify, heapreplace
from itertools import chain, repeat

import msgspec

from rheostat.queueing.deal import deal
from rheostat.queueing.lanes import Lanes
from rheostat.queueing.model import FallingModel


class GreedyOrder(msgspec.Struct, frozen=True):
    """Stations in the order they get an executor; costs one step of a model for each."""

    lanes: Lanes[FallingModel]
    stations: list[int]
    changes: list[float]

    def take(self, spare: int) -> list[int]:
        executors = self.lanes.lowest.copy()
        for station in self.stations[:spare]:
            executors[station] += 1
        if spare > len(self.stations):
            deal(executors, self.lanes.highest, spare - len(self.stations))
        return executors


def greedy_order(lanes: Lanes[FallingModel], spare: int) -> GreedyOrder:
    """The best `spare` executors, fewer when no more of them gain; ties go to the station declared first."""
    heap = []
    for station, model in enumerate(lanes.models):
        change = model.changes(lanes.lowest[station])
        if lanes.highest[station] < math.inf:
            change = _at_most(int(lanes.highest[station]) - lanes.lowest[station], change)
        heap.append((change(), station, change))
    heapify(heap)
    given: list[int] = []
    changes: list[float] = []
    for _ in range(spare):
        if given:
            heapreplace(heap, (change(), station, change))
        best, station, change = heap[0]
        if best >= 0.0:
            break
        given.append(station)
        changes.append(best)
    return GreedyOrder(lanes, given, changes)


def _at_most(times: int, change: Callable[[], float]) -> Callable[[], float]:
    """The first changes only; after them an executor is out of the question."""
    allowed = (change() for _ in range(times))
    return chain(allowed, repeat(math.inf)).__next__
