"""Pauses: executors, batches or the whole topology stop for a while and resume."""

from collections.abc import Iterable, Sequence

from rheostat.names import OperatorName
from rheostat.sim.cluster.dispatch_lists import wake
from rheostat.sim.cluster.executor_registry import SimExecutor
from rheostat.sim.cluster.simulation import Simulation
from rheostat.sim.engine.changes.commands import RESUME


class Pauses:
    """Pauses overlap: an executor or an operator's batches resume when the last of their pauses is over."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._topology_until_s = 0.0

    @property
    def topology_paused_for_s(self) -> float:
        """How much longer the whole topology is paused; 0 when it is not."""
        return max(0.0, self._topology_until_s - self._simulation.now_s)

    def pause_topology(self, duration_s: float) -> None:
        """Stop everything for a while, as engines do that restart for every change."""
        if duration_s <= 0:
            return
        simulation = self._simulation
        self._topology_until_s = max(self._topology_until_s, simulation.now_s + duration_s)
        self.pause_executors(list(simulation.registry.members.values()), duration_s)
        self.pause_batches(list(simulation.position), duration_s)

    def pause_executors(self, executors: Sequence[SimExecutor], duration_s: float) -> None:
        simulation = self._simulation
        self.pause(executors)
        for executor in executors:
            row = simulation.state.executors[executor.index]
            row.away_until = max(row.away_until, simulation.now_s + duration_s)
        simulation.timers.at(simulation.now_s + duration_s, lambda: self.resume(executors))

    def pause(self, executors: Iterable[SimExecutor]) -> None:
        """Let executors start no work until `resume`."""
        for executor in executors:
            self._simulation.state.executors[executor.index].paused += 1

    def resume(self, executors: Iterable[SimExecutor]) -> None:
        for executor in executors:
            if self._simulation.registry.has(executor):
                self._simulation.command(RESUME, executor.index)

    def pause_batches(self, operators: Sequence[OperatorName], duration_s: float) -> None:
        """Start no batch of `operators` for a while."""
        self.hold_batches(operators)
        self._simulation.timers.at(self._simulation.now_s + duration_s, lambda: self.release_batches(operators))

    def hold_batches(self, operators: Iterable[OperatorName]) -> None:
        """Start no batch of `operators` until `release_batches`."""
        for name in operators:
            self._simulation.row(name).paused += 1

    def release_batches(self, operators: Iterable[OperatorName]) -> None:
        for name in operators:
            self._simulation.row(name).paused -= 1
            wake(self._simulation, name)
