"""Executor lifecycle: executors start, serve, stand by, relocate, drain and stop."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from rheostat.duration import seconds
from rheostat.names import OperatorName, PoolName
from rheostat.sim.cluster.dispatch_lists import delist, enlist, wake
from rheostat.sim.cluster.executor_registry import SimExecutor, WorkDone
from rheostat.sim.cluster.pauses import Pauses
from rheostat.sim.cluster.simulation import Simulation
from rheostat.sim.cluster.start_line import StartLine
from rheostat.sim.cluster.substream_moves import SubstreamMoves
from rheostat.sim.engine.changes.commands import RESUME
from rheostat.sim.engine.tables.codes import BY_KEY, MICRO_BATCH, NONE
from rheostat.sim.engine.tables.memory import reset_executor, with_more_executors
from rheostat.snapshot import ExecutorPhase


class ExecutorLifecycle:
    """Takes each executor from its request to its end."""

    def __init__(self, simulation: Simulation, pauses: Pauses, moves: SubstreamMoves) -> None:
        self._simulation = simulation
        self._pauses = pauses
        self._moves = moves
        self._rows = _ExecutorRows(simulation)
        self._line = StartLine(simulation)
        self._schedule_slowdowns()

    def add(
        self, pool: PoolName, number: int, operators: Sequence[OperatorName], node: str | None, process: int | None
    ) -> SimExecutor:
        """A new executor of `operators`, not started yet. A negative number makes it a standby."""
        simulation = self._simulation
        executor = SimExecutor(pool, number, self._rows.take(), tuple(operators), node, process)
        simulation.state.executors[executor.index].paused = 1
        self._set_location(executor, node, process)
        simulation.registry.add(executor)
        self._note_starts()
        return executor

    def start(self, executor: SimExecutor, ready: Callable[[], None] | None = None) -> None:
        """Let `executor` wait in line, start and warm up. Then `ready` is called, or it serves or stands by."""
        self._line.add(executor, lambda: self._warm_up(executor, ready or (lambda: self._up(executor))))

    def _warm_up(self, executor: SimExecutor, ready: Callable[[], None]) -> None:
        simulation = self._simulation
        warm_up_s = seconds(simulation.model.cluster.warm_up, "warm_up")
        if warm_up_s == 0:
            ready()
        elif not self._must_serve_cold(executor):
            simulation.timers.at(simulation.now_s + warm_up_s, ready)
        else:
            self._set_cold(executor, cold=True)
            simulation.timers.at(simulation.now_s + warm_up_s, lambda: self._set_cold(executor, cold=False))
            ready()

    def _must_serve_cold(self, executor: SimExecutor) -> bool:
        """Whether no other executor of its pool serves."""
        serving = self._simulation.registry.serving(executor.pool)
        return executor.id >= 0 and not any(each.phase is ExecutorPhase.ACTIVE for each in serving)

    def _set_cold(self, executor: SimExecutor, *, cold: bool) -> None:
        executor.cold = cold
        if self._simulation.registry.has(executor):
            self._set_speed(executor)

    def _up(self, executor: SimExecutor) -> None:
        if not self._simulation.registry.has(executor) or executor.phase is not ExecutorPhase.STARTING:
            return
        if executor.id < 0:
            executor.phase = ExecutorPhase.WARM
            self._note_starts()
        else:
            self.open(executor, executor.operators)
            self._delay_first_batch(executor)

    def _note_starts(self) -> None:
        """Let micro-batches cost more while executors start, and as much as usual when none does."""
        factor = self._simulation.model.cluster.cost_while_starting
        members = self._simulation.registry.members.values()
        starting = any(each.phase is ExecutorPhase.STARTING for each in members) if factor != 1.0 else False
        self._simulation.state.world[0].batch_cost = factor if starting else 1.0

    def _delay_first_batch(self, executor: SimExecutor) -> None:
        """Let `executor` work longer on its first micro-batch: it loads what its warm-up did not need."""
        simulation = self._simulation
        if any(simulation.row(name).mode == MICRO_BATCH for name in executor.operators):
            extra_s = seconds(simulation.model.cluster.first_batch, "first_batch")
            simulation.state.executors[executor.index].extra_s += extra_s

    def open(self, executor: SimExecutor, operators: Sequence[OperatorName]) -> None:
        """From now on `executor` serves `operators`."""
        executor.phase = ExecutorPhase.ACTIVE
        self._note_starts()
        enlist(self._simulation, executor, operators)
        if self._pauses.topology_paused_for_s > 0:
            self._pauses.pause_executors([executor], self._pauses.topology_paused_for_s)
        self._simulation.command(RESUME, executor.index)
        for name in operators:
            wake(self._simulation, name)

    def activate(self, standby: SimExecutor, number: int, operators: Sequence[OperatorName]) -> None:
        """Give a warm standby a number and let it serve."""
        simulation = self._simulation
        self._renumber(standby, number)
        delay_s = seconds(simulation.model.cluster.activate, "activate")
        simulation.timers.at(simulation.now_s + delay_s, lambda: self.open(standby, operators))
        simulation.timers.run_due(simulation.now_s)

    def reopen(self, executor: SimExecutor, operators: Sequence[OperatorName]) -> None:
        """Give work again to an executor that was to leave, unless it is about to end already."""
        if executor.stopping:
            return
        executor.phase = ExecutorPhase.ACTIVE
        delist(self._simulation, executor, operators)
        enlist(self._simulation, executor, operators)
        for name in operators:
            wake(self._simulation, name)

    def close(self, executor: SimExecutor, operators: Iterable[OperatorName]) -> None:
        """Drain `executor`: no new work, except for the substreams that it still owns."""
        executor.phase = ExecutorPhase.LEAVING
        delist(self._simulation, executor, [name for name in operators if not self._is_needed(executor, name)])

    def _is_needed(self, executor: SimExecutor, operator: OperatorName) -> bool:
        """Whether records must still reach `executor`, because it owns their substreams."""
        return bool(self._simulation.row(operator).grouping == BY_KEY) and self._owns(executor, operator)

    def _owns(self, executor: SimExecutor, operator: OperatorName) -> bool:
        owners = self._simulation.state.substreams.owner[self._simulation.substreams(operator)]
        return bool(np.any(owners == executor.index))

    def empty(self, executor: SimExecutor, operators: Iterable[OperatorName]) -> bool:
        """Whether `executor` has no record and no substream left, and none is on its way to it."""
        row = self._simulation.state.executors[executor.index]
        if row.arrived > row.completed + row.handed_on or any(self._owns(executor, name) for name in operators):
            return False
        return not self._moves.lead_to(executor)

    def remove(self, executor: SimExecutor) -> None:
        """Stop an empty executor."""
        if executor.stopping:
            return
        simulation = self._simulation
        executor.stopping = True
        executor.phase = ExecutorPhase.LEAVING
        self._line.leave(executor)
        delist(simulation, executor, executor.operators)
        stop_s = seconds(simulation.model.cluster.stop, "stop")
        simulation.timers.at(simulation.now_s + stop_s, lambda: self._gone(executor))
        simulation.timers.run_due(simulation.now_s)

    def _gone(self, executor: SimExecutor) -> None:
        """Forget `executor`; its row is free for another once no record can be on its way to it."""
        simulation = self._simulation
        simulation.registry.remove(executor)
        self._note_starts()
        hop_s = float(simulation.state.world[0].longest_hop_s)
        simulation.timers.at(simulation.now_s + hop_s, lambda: self._rows.give_back(executor.index))

    def stand_by(self, executor: SimExecutor) -> None:
        """Keep an empty executor warm as a standby."""
        if executor.stopping:
            return
        delist(self._simulation, executor, executor.operators)
        self._renumber(executor, self._simulation.registry.next_standby())
        executor.phase = ExecutorPhase.WARM
        row = self._simulation.state.executors[executor.index]
        row.paused += 1
        row.extra_s = 0.0

    def _renumber(self, executor: SimExecutor, number: int) -> None:
        """Under its new number the executor has done nothing yet."""
        row = self._simulation.state.executors[executor.index]
        executor.before = WorkDone(int(row.arrived), int(row.completed), float(row.busy_s), float(row.io_s))
        self._simulation.registry.renumber(executor, number)
        self._set_speed(executor)

    def relocate(self, executor: SimExecutor, node: str, process: int | None) -> None:
        """Move an executor with its work to another node; it is down for as long as a new one takes to start."""
        row = self._simulation.state.executors[executor.index]
        busy = int(row.current != NONE) + int(row.rows > 0)
        self._count_busy(row.node, -busy)
        self._set_location(executor, node, process)
        self._count_busy(row.node, busy)
        self._pauses.pause_executors([executor], seconds(self._simulation.model.cluster.start, "start"))

    def _set_location(self, executor: SimExecutor, node: str | None, process: int | None) -> None:
        """Put `executor` on `node`, with the node's speed, in a process of its own unless one is given."""
        row = self._simulation.state.executors[executor.index]
        names = [each.name for each in self._simulation.model.cluster.nodes]
        row.node = names.index(node) if node in names else NONE
        executor.usual_speed = self._speed(node)
        self._set_speed(executor)
        row.process = self._simulation.registry.free_process(executor.pool) if process is None else process
        executor.node, executor.process = node, int(row.process)

    def _speed(self, node: str | None) -> float:
        cluster = self._simulation.model.cluster
        speed = next((each.speed for each in cluster.nodes if each.name == node), 1.0)
        return speed * (cluster.odd_speed if self._simulation.rng.random() < cluster.odd_share else 1.0)

    def _set_speed(self, executor: SimExecutor) -> None:
        """The speed at which `executor` serves from now on; what it is serving ends as it began."""
        cluster, now_s = self._simulation.model.cluster, self._simulation.now_s
        slow = [each.speed for each in cluster.slow if each.applies(executor.operators, executor.id, now_s)]
        cold = cluster.cold_speed if executor.cold else 1.0
        self._simulation.state.executors[executor.index].speed = executor.usual_speed * cold * math.prod(slow)

    def _schedule_slowdowns(self) -> None:
        for slow in self._simulation.model.cluster.slow:
            for edge in (slow.since, slow.until):
                if edge is not None:
                    self._simulation.timers.at(seconds(edge), self._set_speeds)

    def _set_speeds(self) -> None:
        for executor in self._simulation.registry.members.values():
            self._set_speed(executor)

    def _count_busy(self, node: int, executors: int) -> None:
        if node != NONE:
            self._simulation.state.nodes[node].busy += executors


class _ExecutorRows:
    """Rows of executors in the tables: a new executor gets a free one; an executor that is gone frees its own."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._free: list[int] = []
        self._used = 0

    def take(self) -> int:
        """A free row, reset; the tables grow when there is none."""
        index = self._free.pop() if self._free else self._one_more()
        reset_executor(self._simulation.state, index)
        return index

    def _one_more(self) -> int:
        self._used += 1
        if self._used > len(self._simulation.state.executors):
            self._simulation.use_tables(with_more_executors(self._simulation.state))
        return self._used - 1

    def give_back(self, index: int) -> None:
        self._free.append(index)
