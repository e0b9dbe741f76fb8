"""Substream moves: substreams go to another executor with their state, and pause meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rheostat.duration import seconds
from rheostat.names import OperatorName
from rheostat.sim.cluster.barrier import align
from rheostat.sim.cluster.executor_registry import SimExecutor
from rheostat.sim.cluster.pauses import Pauses
from rheostat.sim.cluster.simulation import Simulation
from rheostat.sim.engine.changes.commands import GIVE, HOLD
from rheostat.sim.engine.tables.codes import MICRO_BATCH, NONE


class _Group(NamedTuple):
    """Substreams that go together to one executor."""

    substreams: Sequence[int]
    target: SimExecutor
    duration_s: float


@dataclass(eq=False)
class _Barrier:
    """Executors that come to a barrier, and the groups that move when the last of them is there."""

    executors: list[SimExecutor]
    groups: list[_Group]
    is_open: bool = True


class SubstreamMoves:
    """Starts moves and keeps those under way, by substream."""

    def __init__(self, simulation: Simulation, pauses: Pauses) -> None:
        self._simulation = simulation
        self._pauses = pauses
        self._targets: dict[int, SimExecutor] = {}
        self._barriers: list[_Barrier] = []
        self._in_line: list[tuple[_Group, list[SimExecutor]]] = []

    def under_way(self, substream: int) -> bool:
        return substream in self._targets

    def lead_to(self, executor: SimExecutor) -> bool:
        """Whether a substream is on its way to `executor`."""
        return executor in self._targets.values()

    def install(self, operator: OperatorName, owners: Sequence[SimExecutor]) -> None:
        """Assign each substream to its owner before the run begins."""
        first = self._simulation.substreams(operator).start
        for offset, executor in enumerate(owners):
            self._simulation.command(GIVE, first + offset, executor.index)

    def move(self, operator: OperatorName, substreams: Sequence[int], target: SimExecutor) -> None:
        """Move substreams of one executor, numbered within the operator, to `target`."""
        first = self._simulation.substreams(operator).start
        moved = [first + index for index in substreams]
        source, duration_s = self._owner(moved[0]), self._duration_s(operator, moved)
        if self._simulation.row(operator).mode == MICRO_BATCH:
            self._move_between_batches(moved, source, target, duration_s)
        elif self._simulation.model.cluster.pause in ("barrier", "drain"):
            self._targets.update(dict.fromkeys(moved, target))
            self._move_at_barrier(_Group(moved, target, duration_s), self._paused(source, target))
        else:
            self._move_between_queues(moved, source, target, duration_s)

    def _duration_s(self, operator: OperatorName, substreams: Sequence[int]) -> float:
        model, cluster = self._simulation.model.operator(operator), self._simulation.model.cluster
        completed = float(np.sum(self._simulation.state.substreams.completed[list(substreams)]))
        state_bytes = model.state_bytes * len(substreams) + model.state_bytes_per_record * completed
        return seconds(cluster.move_delay, "move_delay") + state_bytes / cluster.bandwidth

    def _move_between_batches(
        self, substreams: Sequence[int], source: SimExecutor, target: SimExecutor, duration_s: float
    ) -> None:
        """The next batch runs them on `target`, which loads their state first; `source` waits too where both pause.

        Where the whole topology pauses, the state moves during that pause.
        """
        state, paused = self._simulation.state, self._paused(source, target)
        state.substreams.owner[list(substreams)] = target.index
        if self._pauses_everything:
            self._pauses.pause_topology(duration_s)
        else:
            for executor in paused or [target]:
                state.executors[executor.index].extra_s += duration_s
        self._note(duration_s, executors=max(len(paused), 1))

    def _move_between_queues(
        self, substreams: Sequence[int], source: SimExecutor, target: SimExecutor, duration_s: float
    ) -> None:
        """Hold them until their state has arrived and `source` has finished the record that it serves."""
        simulation = self._simulation
        self._targets.update(dict.fromkeys(substreams, target))
        for substream in substreams:
            simulation.command(HOLD, substream)
        paused, batched = self._paused(source, target), self._paused_batches()
        self._pauses.pause(paused)
        self._pauses.hold_batches(batched)
        begun_s = simulation.now_s

        def finish() -> None:
            if np.any(simulation.state.substreams.serving[list(substreams)] != NONE):
                simulation.timers.at(float(simulation.state.executors[source.index].done), finish)
                return
            self._give(substreams, target)
            self._pauses.resume(paused)
            self._pauses.release_batches(batched)
            self._note(simulation.now_s - begun_s, executors=max(len(paused), 1))

        simulation.timers.at(simulation.now_s + duration_s, finish)

    def _move_at_barrier(self, group: _Group, executors: list[SimExecutor]) -> None:
        """Move when all of `executors` have come to a barrier; moves among them until then use the same barrier.

        A move that needs some of them while they are at it waits in line.
        """
        for barrier in self._barriers:
            if barrier.is_open and all(executor in barrier.executors for executor in executors):
                barrier.groups.append(group)
                return
        if any(executor in barrier.executors for barrier in self._barriers for executor in executors):
            self._in_line.append((group, executors))
            return
        simulation, barrier = self._simulation, _Barrier(executors, [group])
        self._barriers.append(barrier)
        begun_s = simulation.now_s

        def move(present: Sequence[SimExecutor]) -> None:
            barrier.is_open = False
            for substream in (each for group in barrier.groups for each in group.substreams):
                simulation.command(HOLD, substream)

            def finish() -> None:
                for group in barrier.groups:
                    self._give(group.substreams, group.target)
                self._pauses.resume(present)
                self._note(simulation.now_s - begun_s, executors=len(present))
                self._barriers.remove(barrier)
                self._start_in_line()

            simulation.timers.at(simulation.now_s + max(group.duration_s for group in barrier.groups), finish)

        align(simulation, self._pauses, executors, move)

    def _start_in_line(self) -> None:
        waiting, self._in_line = self._in_line, []
        for group, executors in waiting:
            self._move_at_barrier(group, executors)

    def _give(self, substreams: Sequence[int], target: SimExecutor) -> None:
        for substream in substreams:
            self._simulation.command(GIVE, substream, target.index)
            del self._targets[substream]

    def _owner(self, substream: int) -> SimExecutor:
        index = self._simulation.state.substreams[substream].owner
        return next(executor for executor in self._simulation.registry.members.values() if executor.index == index)

    def _paused(self, source: SimExecutor, target: SimExecutor) -> list[SimExecutor]:
        """The executors that pause for a move."""
        match self._simulation.model.cluster.pause:
            case "topology":
                return list(self._simulation.registry.members.values())
            case "barrier":
                return self._simulation.registry.serving(source.pool)
            case "executors" | "drain":
                return [source, target]
        return []

    def _paused_batches(self) -> list[OperatorName]:
        """The operators whose batches pause for a move."""
        batched = [name for name in self._simulation.position if self._simulation.row(name).mode == MICRO_BATCH]
        return batched if self._pauses_everything else []

    @property
    def _pauses_everything(self) -> bool:
        return self._simulation.model.cluster.pause == "topology"

    def _note(self, duration_s: float, executors: int) -> None:
        self._simulation.switching_events += 1
        self._simulation.switching_s += duration_s
        self._simulation.switching_executor_s += duration_s * executors
