"""Simulation: a model under way, with its tables, clock, timers and executors."""

import heapq
import math
from collections.abc import Callable

import numpy as np

from rheostat.errors import PlantError
from rheostat.names import OperatorName
from rheostat.sim.build import build
from rheostat.sim.cluster.executor_registry import ExecutorRegistry
from rheostat.sim.engine.calendar import SUBJECT_BITS
from rheostat.sim.engine.changes.commands import carry_out
from rheostat.sim.engine.event_loop import NEEDS_MEMORY, run
from rheostat.sim.engine.jit import addressed
from rheostat.sim.engine.tables.codes import NONE
from rheostat.sim.engine.tables.memory import with_more_tuples
from rheostat.sim.engine.tables.state import EngineState
from rheostat.sim.model import SimModel

MOST_RECORDS = 1 << SUBJECT_BITS


class Timers:
    """Python actions that are due at given times; actions due at the same time run in the order they were added."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._added = 0

    def at(self, time_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._entries, (time_s, self._added, action))
        self._added += 1

    def next_time(self) -> float:
        return self._entries[0][0] if self._entries else math.inf

    def run_due(self, now_s: float) -> None:
        """Run everything due at `now_s` or before, in order, including what is added for now meanwhile."""
        while self._entries and self._entries[0][0] <= now_s:
            heapq.heappop(self._entries)[2]()


class Simulation:
    """The event loop as Python sees it. What changes the cluster works on this, between two calls of `run`."""

    def __init__(self, model: SimModel, rng: np.random.Generator) -> None:
        self.model = model
        self.rng = rng
        self.timers = Timers()
        self.registry = ExecutorRegistry()
        self.position = {name: index for index, name in enumerate(model.topology.operators)}
        self.switching_events = 0
        self.switching_s = 0.0
        self.switching_executor_s = 0.0
        self.use_tables(build(model, rng))
        self._now = self.state.world.view(np.ndarray)["now"]

    @property
    def now_s(self) -> float:
        return float(self._now[0])

    def use_tables(self, state: EngineState) -> None:
        """From now on use `state`, which is the present one with more room."""
        self.state = state
        self._tables = addressed(state)

    def run(self, until_s: float) -> None:
        """Process all events up to `until_s`."""
        while run(self._tables, float(until_s)) == NEEDS_MEMORY:
            if len(self.state.tuples) >= MOST_RECORDS:
                raise PlantError(
                    f"{MOST_RECORDS:,} records are in the system after {self.now_s:g} s, which is all that can be "
                    "simulated: lower the load, bound the queues (capacity), or add executors"
                )
            self.use_tables(with_more_tuples(self.state))

    def command(self, command: int, subject: int = NONE, target: int = NONE) -> None:
        """Carry out one of `engine.changes.commands` now."""
        carry_out(self._tables, command, int(subject), int(target))

    def row(self, operator: OperatorName) -> np.record:
        """The record of an operator in the tables."""
        return self.state.operators[self.position[operator]]  # type: ignore[no-any-return]

    def substreams(self, operator: OperatorName) -> slice:
        """The positions of an operator's substreams in their table."""
        row = self.row(operator)
        return slice(int(row.first_substream), int(row.first_substream + row.substreams))
