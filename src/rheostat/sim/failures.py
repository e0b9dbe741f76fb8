"""Executors break down and come back; what they had is done again, or is lost where a restart loses it."""

from collections.abc import Iterable, Sequence
from functools import partial

from rheostat.duration import positive_seconds, seconds
from rheostat.names import OperatorName
from rheostat.sim.dispatch_lists import strike_off, wake
from rheostat.sim.engine import act, codes
from rheostat.sim.executor_lifecycle import Staff
from rheostat.sim.fleet import Executor
from rheostat.sim.model import Failure
from rheostat.sim.pauses import Pauses
from rheostat.sim.simulation import Simulation
from rheostat.snapshot import ExecutorPhase


class Failures:
    """Those that the model tells of happen by themselves."""

    def __init__(self, simulation: Simulation, pauses: Pauses, staff: Staff) -> None:
        self._simulation = simulation
        self._pauses = pauses
        self._staff = staff
        for failure in simulation.model.cluster.failures:
            simulation.agenda.at(seconds(failure.at, "failure time"), partial(self._fail_as_told, failure))

    def _fail_as_told(self, failure: Failure) -> None:
        for executor in self._simulation.fleet.members.values():
            if executor.id == failure.executor and failure.operator in executor.operators:
                self.fail(executor, executor.operators, positive_seconds(failure.down, "down"))

    def fail(self, executor: Executor, operators: Sequence[OperatorName], down_s: float) -> None:
        """`executor` breaks down and is back after `down_s`; what it had under way is done again."""
        if executor.phase is not ExecutorPhase.ACTIVE:
            return
        simulation = self._simulation
        executor.phase = ExecutorPhase.FAILED
        self._pauses.pause([executor])
        simulation.act(act.INTERRUPT, executor.index)
        strike_off(simulation, executor, operators)
        for name in operators:
            self._fail_over(executor, name, down_s)
        simulation.agenda.at(simulation.now_s + down_s, lambda: self._recover(executor, operators))

    def _fail_over(self, executor: Executor, operator: OperatorName, down_s: float) -> None:
        row, position = self._simulation.row(operator), self._simulation.position[operator]
        if row.mode == codes.MICRO_BATCH:
            self._simulation.act(act.ABANDON_BATCH, position)
            if row.grouping == codes.BY_KEY:
                self._pauses.pause_batches([operator], down_s)
            else:
                wake(self._simulation, operator)
        elif row.grouping != codes.BY_KEY:
            self._simulation.act(act.GIVE_BACK, executor.index, position)
            self._simulation.act(act.DEAL_OUT, position)

    def _recover(self, executor: Executor, operators: Sequence[OperatorName]) -> None:
        if executor.phase is ExecutorPhase.FAILED:
            self._staff.open(executor, operators)

    def lose_what_waits(self, executors: Iterable[Executor], operators: Iterable[OperatorName]) -> None:
        """What these executors serve and have queued goes down with them; micro-batches are read again."""
        for executor in executors:
            self._simulation.act(act.LOSE_QUEUE, executor.index)
        for name in operators:
            if self._simulation.row(name).mode == codes.SHARED_QUEUE:
                self._simulation.act(act.LOSE_WAITING, self._simulation.position[name])
