"""Rows of executors in the tables: each that comes gets one, and one that is gone leaves its row to others."""

from rheostat.sim.engine.memory import reset_executor, with_more_executors
from rheostat.sim.simulation import Simulation


class Rows:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._free: list[int] = []
        self._used = 0

    def take(self) -> int:
        """A row as good as new; the tables grow when there is none."""
        index = self._free.pop() if self._free else self._one_more()
        reset_executor(self._simulation.state, index)
        return index

    def _one_more(self) -> int:
        self._used += 1
        if self._used > len(self._simulation.state.executors):
            self._simulation.go_on_with(with_more_executors(self._simulation.state))
        return self._used - 1

    def give_back(self, index: int) -> None:
        self._free.append(index)
