"""Start line: how many executors start at the same time; further ones wait until one of those is up."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rheostat.duration import seconds
from rheostat.sim.cluster.executor_registry import SimExecutor
from rheostat.sim.cluster.simulation import Simulation


@dataclass(eq=False)
class _Start:
    executor: SimExecutor
    up: Callable[[], None]


class StartLine:
    """Starts executors in the order of their requests."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        cluster = simulation.model.cluster
        self._start_s = seconds(cluster.start, "start")
        self._most = math.inf if cluster.starts_at_once == "all" else cluster.starts_at_once
        self._waiting: list[_Start] = []
        self._starting: list[_Start] = []

    def add(self, executor: SimExecutor, up: Callable[[], None]) -> None:
        """Start `executor` as soon as there is a place; `up` is called when it is up."""
        self._waiting.append(_Start(executor, up))
        self._start_next()

    def leave(self, executor: SimExecutor) -> None:
        """`executor` is no longer wanted: another may start in its place."""
        self._waiting = [each for each in self._waiting if each.executor is not executor]
        self._starting = [each for each in self._starting if each.executor is not executor]
        self._start_next()

    def _start_next(self) -> None:
        while self._waiting and len(self._starting) < self._most:
            start = self._waiting.pop(0)
            self._starting.append(start)
            self._simulation.timers.at(self._simulation.now_s + self._start_s, partial(self._end, start))

    def _end(self, start: _Start) -> None:
        if start in self._starting:
            self._starting.remove(start)
            start.up()
            self._start_next()
