"""Executors, batches or everything stand still for a while, and go on."""

from collections.abc import Iterable, Sequence

from rheostat.names import OperatorName
from rheostat.sim.dispatch_lists import wake
from rheostat.sim.engine.act import RESUME
from rheostat.sim.fleet import Executor
from rheostat.sim.simulation import Simulation


class Pauses:
    """Pauses add up: an executor or a batch goes on when the last of its pauses is over."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._still_until_s = 0.0

    @property
    def still_for_s(self) -> float:
        """How much longer the whole topology is paused; 0 when it is not."""
        return max(0.0, self._still_until_s - self._simulation.now_s)

    def pause_topology(self, duration_s: float) -> None:
        """Stop everything for a while, as engines do that restart for a change."""
        if duration_s <= 0:
            return
        simulation = self._simulation
        self._still_until_s = max(self._still_until_s, simulation.now_s + duration_s)
        self.pause_executors(list(simulation.fleet.members.values()), duration_s)
        self.pause_batches(list(simulation.position), duration_s)

    def pause_executors(self, executors: Sequence[Executor], duration_s: float) -> None:
        simulation = self._simulation
        self.pause(executors)
        for executor in executors:
            row = simulation.state.executors[executor.index]
            row.away_until = max(row.away_until, simulation.now_s + duration_s)
        simulation.agenda.at(simulation.now_s + duration_s, lambda: self.resume(executors))

    def pause(self, executors: Iterable[Executor]) -> None:
        """Have executors begin nothing until they are told to `resume`."""
        for executor in executors:
            self._simulation.state.executors[executor.index].paused += 1

    def resume(self, executors: Iterable[Executor]) -> None:
        for executor in executors:
            if self._simulation.fleet.has(executor):
                self._simulation.act(RESUME, executor.index)

    def pause_batches(self, operators: Sequence[OperatorName], duration_s: float) -> None:
        """Start no batch of `operators` for a while."""
        self.hold_batches(operators)
        self._simulation.agenda.at(self._simulation.now_s + duration_s, lambda: self.release_batches(operators))

    def hold_batches(self, operators: Iterable[OperatorName]) -> None:
        """Start no batch of `operators` until they are released."""
        for name in operators:
            self._simulation.row(name).paused += 1

    def release_batches(self, operators: Iterable[OperatorName]) -> None:
        for name in operators:
            self._simulation.row(name).paused -= 1
            wake(self._simulation, name)
