"""Task graph: tasks and the traffic between them, as arrays."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rheostat.errors import ConfigError, nearest
from rheostat.placement.model.resources import Resources


class Task(NamedTuple):
    """One executor of an operator (Ra-Stream's v_{i,k}), and its demand."""

    name: str
    demand: Resources = Resources()


class Edge(NamedTuple):
    """Records per second from one task to another (Ra-Stream's Tr)."""

    source: str
    target: str
    rate: float


class Adjacency(NamedTuple):
    """The neighbours of task v are `neighbour[start[v]:start[v + 1]]`, with as many `rate`s."""

    start: np.ndarray
    neighbour: np.ndarray
    rate: np.ndarray


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Tasks in order, their `demands` (a row each: cpu, memory, io), and the traffic between pairs of them.

    A pair is in `ends` once, for both directions. `own` is the traffic of a task with itself, which is never cut.
    `sizes` is the number of tasks that one task represents, more than 1 in a coarsened graph.
    """

    names: tuple[str, ...]
    demands: np.ndarray
    ends: np.ndarray
    rates: np.ndarray
    own: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, tasks: Sequence[Task], edges: Iterable[Edge] = ()) -> "TaskGraph":
        """The graph of `tasks` and `edges`; the traffic of a pair adds up over its edges and directions."""
        position = _positions(tasks)
        own, between = np.zeros(len(tasks)), dict[tuple[int, int], float]()
        for edge in edges:
            one, other = sorted((_end(edge, edge.source, position), _end(edge, edge.target, position)))
            if not (math.isfinite(edge.rate) and edge.rate >= 0):
                raise ConfigError(f"edge {edge.source!r} -> {edge.target!r}: rate {edge.rate!r} must be a number >= 0")
            if one == other:
                own[one] += edge.rate
            elif edge.rate > 0:
                between[one, other] = between.get((one, other), 0.0) + edge.rate
        return cls(
            names=tuple(position),
            demands=np.array([_checked(task) for task in tasks], dtype=float),
            ends=np.array(list(between), dtype=np.int64).reshape(-1, 2),
            rates=np.fromiter(between.values(), dtype=float),
            own=own,
            sizes=np.ones(len(tasks), dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def total(self) -> float:
        """All traffic, in records per second."""
        return float(self.rates.sum() + self.own.sum())

    @cached_property
    def adjacency(self) -> Adjacency:
        """Every pair, listed at both of its ends."""
        source, target = np.concatenate([self.ends, self.ends[:, ::-1]]).T
        order = np.lexsort((target, source))
        start = np.searchsorted(source[order], np.arange(len(self) + 1))
        return Adjacency(start, target[order], np.concatenate([self.rates, self.rates])[order])

    @cached_property
    def neighbours(self) -> list[list[tuple[int, float]]]:
        """The neighbours of each task with the traffic to them, for plain Python."""
        start, neighbour, rate = (column.tolist() for column in self.adjacency)
        pairs = list(zip(neighbour, rate, strict=True))
        return [pairs[start[task] : start[task + 1]] for task in range(len(self))]


def _positions(tasks: Sequence[Task]) -> dict[str, int]:
    position = {task.name: index for index, task in enumerate(tasks)}
    if not tasks:
        raise ConfigError("there are no tasks to place: give at least one")
    for index, task in enumerate(tasks):
        if position[task.name] != index:
            raise ConfigError(f"two tasks are called {task.name!r}: rename one")
    return position


def _end(edge: Edge, name: str, position: dict[str, int]) -> int:
    if name not in position:
        raise ConfigError(
            f"edge {edge.source!r} -> {edge.target!r}: there is no task {name!r}; {nearest(name, position)}"
        )
    return position[name]


def _checked(task: Task) -> Resources:
    for what, amount in zip(Resources._fields, task.demand, strict=True):
        if not (math.isfinite(amount) and amount >= 0):
            raise ConfigError(f"task {task.name!r}: {what} {amount!r} must be a number >= 0")
    return task.demand
