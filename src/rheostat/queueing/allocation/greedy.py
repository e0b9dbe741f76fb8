"""Greedy order for a few stations: a heap of their next changes, one executor at a time (DRS Algorithm 1)."""

from collections.abc import Iterator
from heapq import heapify, heapreplace
from itertools import chain, islice, repeat
from math import inf

import msgspec

from rheostat.queueing.allocation.bounded_models import BoundedModels, share_evenly
from rheostat.queueing.models.model import ConvexModel


class GreedyOrder(msgspec.Struct, frozen=True):
    """Stations in the order in which they get an executor; each costs one step of a model."""

    bounded: BoundedModels[ConvexModel]
    stations: list[int]
    changes: list[float]

    def take(self, spare: int) -> list[int]:
        executors = self.bounded.lowest.copy()
        for station in self.stations[:spare]:
            executors[station] += 1
        if spare > len(self.stations):
            share_evenly(executors, self.bounded.highest, spare - len(self.stations))
        return executors


def greedy_order(bounded: BoundedModels[ConvexModel], spare: int) -> GreedyOrder:
    """The best `spare` executors, fewer when no more of them gain; ties go to the station declared first."""
    heap = []
    lowest, highest = bounded.lowest, bounded.highest
    for station, model in enumerate(bounded.models):
        changes = model.changes(lowest[station])
        if highest[station] < inf:
            changes = _at_most(int(highest[station]) - lowest[station], changes)
        heap.append((next(changes), station, changes))
    heapify(heap)
    given: list[int] = []
    gains: list[float] = []
    for _ in range(spare):
        if given:
            heapreplace(heap, (next(changes), station, changes))
        best, station, changes = heap[0]
        if best >= 0.0:
            break
        given.append(station)
        gains.append(best)
    return GreedyOrder(bounded, given, gains)


def _at_most(times: int, changes: Iterator[float]) -> Iterator[float]:
    """The first `times` changes; after them no further executor is possible."""
    return chain(islice(changes, times), repeat(inf))
