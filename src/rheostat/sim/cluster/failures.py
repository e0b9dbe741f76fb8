"""Failures: executors fail and are replaced or recover; their work is done again, or lost where a restart loses it."""

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
    """Schedules the failures that the model lists.

    `hit` counts those that found an executor; `missed` those that found none, or only one that did not serve.
    """

    def __init__(self, simulation: Simulation, pauses: Pauses, lifecycle: ExecutorLifecycle) -> None:
        self._simulation = simulation
        self._pauses = pauses
        self._lifecycle = lifecycle
        self.hit = self.missed = 0
        for failure in simulation.model.cluster.failures:
            simulation.timers.at(seconds(failure.at, "failure time"), partial(self._fail_as_listed, failure))

    def _fail_as_listed(self, failure: Failure) -> None:
        executor = self._meant(failure)
        if executor is None or executor.phase is not ExecutorPhase.ACTIVE:
            self.missed += 1
            return
        self.hit += 1
        self.fail(
            executor, executor.operators, None if failure.down is None else positive_seconds(failure.down, "down")
        )

    def _meant(self, failure: Failure) -> SimExecutor | None:
        """The executor with the number, in any phase, else the serving one with the nearest number."""
        members = self._simulation.registry.members.values()
        serving = [each for each in members if each.id >= 0 and failure.operator in each.operators]
        named = [each for each in serving if each.id == failure.executor]
        active = [each for each in serving if each.phase is ExecutorPhase.ACTIVE]
        return min(named or active, key=lambda each: (abs(each.id - failure.executor), each.id), default=None)

    def fail(self, executor: SimExecutor, operators: Sequence[OperatorName], down_s: float | None) -> None:
        """`executor` fails and is back after `down_s`; if that is None, another starts in its place, with its number.

        What it was processing is done again.
        """
        if executor.phase is not ExecutorPhase.ACTIVE:
            return
        simulation = self._simulation
        executor.phase = ExecutorPhase.FAILED
        self._pauses.pause([executor])
        simulation.command(commands.INTERRUPT, executor.index)
        delist(simulation, executor, operators)
        held = [name for name in operators if self._needs_all_executors(name)]
        self._pauses.hold_batches(held)
        for name in operators:
            self._fail_over(executor, name)
        recover = partial(self._recover, executor, operators, held)
        if down_s is None:
            self._lifecycle.start(executor, recover)
        else:
            simulation.timers.at(simulation.now_s + down_s, recover)

    def _needs_all_executors(self, operator: OperatorName) -> bool:
        """Whether batches of `operator` wait for the executors that have its substreams."""
        row = self._simulation.row(operator)
        return bool(row.mode == codes.MICRO_BATCH and row.grouping == codes.BY_KEY)

    def _fail_over(self, executor: SimExecutor, operator: OperatorName) -> None:
        row, position = self._simulation.row(operator), self._simulation.position[operator]
        if row.mode == codes.MICRO_BATCH:
            self._simulation.command(commands.ABANDON_BATCH, position)
            if row.grouping != codes.BY_KEY:
                wake(self._simulation, operator)
        elif row.grouping != codes.BY_KEY:
            self._simulation.command(commands.GIVE_BACK, executor.index, position)
            self._simulation.command(commands.DISPATCH_WAITING, position)

    def _recover(self, executor: SimExecutor, operators: Sequence[OperatorName], held: Sequence[OperatorName]) -> None:
        if executor.phase is ExecutorPhase.FAILED:
            self._lifecycle.open(executor, operators)
        self._pauses.release_batches(held)

    def lose_waiting(self, executors: Iterable[SimExecutor], operators: Iterable[OperatorName]) -> None:
        """Lose what these executors serve and have queued; micro-batches are read again."""
        for executor in executors:
            self._simulation.command(commands.LOSE_QUEUE, executor.index)
        for name in operators:
            if self._simulation.row(name).mode == codes.SHARED_QUEUE:
                self._simulation.command(commands.LOSE_WAITING, self._simulation.position[name])
