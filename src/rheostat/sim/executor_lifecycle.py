"""Executors come, serve, stand by, change places and go."""

from collections.abc import Iterable, Sequence

import numpy as np

from rheostat.duration import seconds
from rheostat.names import OperatorName, PoolName
from rheostat.sim.dispatch_lists import enrol, strike_off, wake
from rheostat.sim.engine.act import RESUME
from rheostat.sim.engine.codes import BY_KEY, NONE
from rheostat.sim.fleet import Executor, WorkDone
from rheostat.sim.moves import Moves
from rheostat.sim.pauses import Pauses
from rheostat.sim.rows import Rows
from rheostat.sim.simulation import Simulation
from rheostat.snapshot import ExecutorPhase


class Staff:
    """Follows each executor from the request for it until it is gone."""

    def __init__(self, simulation: Simulation, pauses: Pauses, moves: Moves) -> None:
        self._simulation = simulation
        self._pauses = pauses
        self._moves = moves
        self._rows = Rows(simulation)

    def request(
        self, pool: PoolName, number: int, operators: Sequence[OperatorName], node: str | None, process: int | None
    ) -> Executor:
        """Start a new executor; it serves `operators` when it is up and warm. A negative number is a standby."""
        simulation = self._simulation
        executor = Executor(pool, number, self._rows.take(), tuple(operators), node, process)
        simulation.state.executors[executor.index].paused = 1
        self._settle_in(executor, node, process)
        simulation.fleet.join(executor)
        cluster = simulation.model.cluster
        up_s = simulation.now_s + seconds(cluster.start, "start") + seconds(cluster.warm_up, "warm_up")
        simulation.agenda.at(up_s, lambda: self._up(executor, operators))
        return executor

    def _up(self, executor: Executor, operators: Sequence[OperatorName]) -> None:
        if not self._simulation.fleet.has(executor) or executor.phase is not ExecutorPhase.STARTING:
            return
        if executor.id < 0:
            executor.phase = ExecutorPhase.WARM
        else:
            self.open(executor, operators)

    def open(self, executor: Executor, operators: Sequence[OperatorName]) -> None:
        """From now on `executor` serves `operators`."""
        executor.phase = ExecutorPhase.ACTIVE
        enrol(self._simulation, executor, operators)
        if self._pauses.still_for_s > 0:
            self._pauses.pause_executors([executor], self._pauses.still_for_s)
        self._simulation.act(RESUME, executor.index)
        for name in operators:
            wake(self._simulation, name)

    def activate(self, standby: Executor, number: int, operators: Sequence[OperatorName]) -> None:
        """Give a warm standby a number and work."""
        simulation = self._simulation
        self._renumber(standby, number)
        delay_s = seconds(simulation.model.cluster.activate, "activate")
        simulation.agenda.at(simulation.now_s + delay_s, lambda: self.open(standby, operators))
        simulation.agenda.run_due(simulation.now_s)

    def close(self, executor: Executor, operators: Iterable[OperatorName]) -> None:
        """Give `executor` no more work, except for the substreams that it still has; it finishes what is there."""
        executor.phase = ExecutorPhase.LEAVING
        strike_off(self._simulation, executor, [name for name in operators if not self._is_needed(executor, name)])

    def reopen(self, executor: Executor, operators: Sequence[OperatorName]) -> None:
        """Give work again to an executor that was to leave, unless it is on its way out already."""
        if executor.stopping:
            return
        executor.phase = ExecutorPhase.ACTIVE
        strike_off(self._simulation, executor, operators)
        enrol(self._simulation, executor, operators)
        for name in operators:
            wake(self._simulation, name)

    def _is_needed(self, executor: Executor, operator: OperatorName) -> bool:
        """Whether records must still reach `executor`, since their substreams are there."""
        return bool(self._simulation.row(operator).grouping == BY_KEY) and self._owns(executor, operator)

    def _owns(self, executor: Executor, operator: OperatorName) -> bool:
        owners = self._simulation.state.substreams.owner[self._simulation.substreams(operator)]
        return bool(np.any(owners == executor.index))

    def empty(self, executor: Executor, operators: Iterable[OperatorName]) -> bool:
        """Whether nothing is left on `executor`, and nothing on its way to it: no record, no substream."""
        row = self._simulation.state.executors[executor.index]
        if row.arrived > row.completed + row.handed_on or any(self._owns(executor, name) for name in operators):
            return False
        return not self._moves.lead_to(executor)

    def remove(self, executor: Executor) -> None:
        """Let an empty executor go."""
        if executor.stopping:
            return
        simulation = self._simulation
        executor.stopping = True
        executor.phase = ExecutorPhase.LEAVING
        strike_off(simulation, executor, executor.operators)
        stop_s = seconds(simulation.model.cluster.stop, "stop")
        simulation.agenda.at(simulation.now_s + stop_s, lambda: self._gone(executor))
        simulation.agenda.run_due(simulation.now_s)

    def _gone(self, executor: Executor) -> None:
        """Its row is free for another when no record can be on its way to it any more."""
        simulation = self._simulation
        simulation.fleet.leave(executor)
        hop_s = float(simulation.state.world[0].longest_hop_s)
        simulation.agenda.at(simulation.now_s + hop_s, lambda: self._rows.give_back(executor.index))

    def stand_by(self, executor: Executor) -> None:
        """Keep an empty executor warm, without a number."""
        if executor.stopping:
            return
        strike_off(self._simulation, executor, executor.operators)
        self._renumber(executor, self._simulation.fleet.next_standby())
        executor.phase = ExecutorPhase.WARM
        row = self._simulation.state.executors[executor.index]
        row.paused += 1
        row.extra_s = 0.0

    def _renumber(self, executor: Executor, number: int) -> None:
        """Under its new number the executor has done nothing yet."""
        row = self._simulation.state.executors[executor.index]
        executor.before = WorkDone(int(row.arrived), int(row.completed), float(row.busy_s))
        self._simulation.fleet.renumber(executor, number)

    def relocate(self, executor: Executor, node: str, process: int | None) -> None:
        """Move an executor with its work to another node; it is down as long as a new one takes to start."""
        row = self._simulation.state.executors[executor.index]
        busy = int(row.current != NONE) + int(row.rows > 0)
        self._count_busy(row.node, -busy)
        self._settle_in(executor, node, process)
        self._count_busy(row.node, busy)
        self._pauses.pause_executors([executor], seconds(self._simulation.model.cluster.start, "start"))

    def _settle_in(self, executor: Executor, node: str | None, process: int | None) -> None:
        """`executor` is on `node` now, with its speed, in a process of its own unless told."""
        row = self._simulation.state.executors[executor.index]
        names = [each.name for each in self._simulation.model.cluster.nodes]
        row.node = names.index(node) if node in names else NONE
        row.speed = self._speed(node)
        row.process = self._simulation.fleet.free_process(executor.pool) if process is None else process
        executor.node, executor.process = node, int(row.process)

    def _speed(self, node: str | None) -> float:
        cluster = self._simulation.model.cluster
        speed = next((each.speed for each in cluster.nodes if each.name == node), 1.0)
        return speed * (cluster.odd_speed if self._simulation.rng.random() < cluster.odd_share else 1.0)

    def _count_busy(self, node: int, executors: int) -> None:
        if node != NONE:
            self._simulation.state.nodes[node].busy += executors
