"""Failures: executors fail and recover; their work is done again, or is lost where a restart loses it."""

from collections.abc import Iterable, Sequence
from functools import partial

from rheostat.duration import positive_seconds, seconds
from rheostat.names import OperatorName
from rheostat.sim.cluster.dispatch_lists import delist, wake
from rheostat.sim.cluster.executor_lifecycle import ExecutorLifecycle
from rheostat.sim.cluster.executor_registry import SimExecutor
from rheostat.sim.cluster.pauses import Pauses
from rheostat.sim.cluster.simulation import Simulation
from rheostat.sim.engine.changes import commands
from rheostat.sim.engine.tables import codes
from rheostat.sim.model import Failure
from rheostat.snapshot import ExecutorPhase


class Failures:
    """Schedules the failures that the model lists."""

    def __init__(self, simulation: Simulation, pauses: Pauses, lifecycle: ExecutorLifecycle) -> None:
        self._simulation = simulation
        self._pauses = pauses
        self._lifecycle = lifecycle
        for failure in simulation.model.cluster.failures:
            simulation.timers.at(seconds(failure.at, "failure time"), partial(self._fail_as_listed, failure))

    def _fail_as_listed(self, failure: Failure) -> None:
        for executor in self._simulation.registry.members.values():
            if executor.id == failure.executor and failure.operator in executor.operators:
                self.fail(executor, executor.operators, positive_seconds(failure.down, "down"))

    def fail(self, executor: SimExecutor, operators: Sequence[OperatorName], down_s: float) -> None:
        """`executor` fails and is back after `down_s`; what it was processing is done again."""
        if executor.phase is not ExecutorPhase.ACTIVE:
            return
        simulation = self._simulation
        executor.phase = ExecutorPhase.FAILED
        self._pauses.pause([executor])
        simulation.command(commands.INTERRUPT, executor.index)
        delist(simulation, executor, operators)
        for name in operators:
            self._fail_over(executor, name, down_s)
        simulation.timers.at(simulation.now_s + down_s, lambda: self._recover(executor, operators))

    def _fail_over(self, executor: SimExecutor, operator: OperatorName, down_s: float) -> None:
        row, position = self._simulation.row(operator), self._simulation.position[operator]
        if row.mode == codes.MICRO_BATCH:
            self._simulation.command(commands.ABANDON_BATCH, position)
            if row.grouping == codes.BY_KEY:
                self._pauses.pause_batches([operator], down_s)
            else:
                wake(self._simulation, operator)
        elif row.grouping != codes.BY_KEY:
            self._simulation.command(commands.GIVE_BACK, executor.index, position)
            self._simulation.command(commands.DISPATCH_WAITING, position)

    def _recover(self, executor: SimExecutor, operators: Sequence[OperatorName]) -> None:
        if executor.phase is ExecutorPhase.FAILED:
            self._lifecycle.open(executor, operators)

    def lose_waiting(self, executors: Iterable[SimExecutor], operators: Iterable[OperatorName]) -> None:
        """Lose what these executors serve and have queued; micro-batches are read again."""
        for executor in executors:
            self._simulation.command(commands.LOSE_QUEUE, executor.index)
        for name in operators:
            if self._simulation.row(name).mode == codes.SHARED_QUEUE:
                self._simulation.command(commands.LOSE_WAITING, self._simulation.position[name])
