"""The simulated cluster: time passes, executors come, go and fail, substreams change hands.

Mechanism only: what should happen is said by `plant`, which follows a plan.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from rheostat.duration import positive_seconds, seconds
from rheostat.sim import control, engine
from rheostat.sim import state as tables
from rheostat.sim.agenda import Agenda
from rheostat.sim.build import CHUNK_SLOTS, GROUPINGS, build, set_weights
from rheostat.sim.fleet import Executor, Fleet
from rheostat.sim.jit import addressed
from rheostat.sim.model import Failure, SimModel
from rheostat.snapshot import ExecutorPhase


class Cluster:
    """Executors, substreams and the records between them, under a clock that only `advance` moves."""

    def __init__(self, model: SimModel, rng: np.random.Generator) -> None:
        self.model = model
        self.state = build(model, rng)
        self.agenda = Agenda()
        self.fleet = Fleet()
        self.position = {name: index for index, name in enumerate(model.topology.operators)}
        self.switching_events = 0
        self.switching_s = 0.0
        self.switching_executor_s = 0.0
        self._rng = rng
        self._rows = addressed(self.state)
        self._free_rows: list[int] = []
        self._rows_used = 0
        self._moving: set[int] = set()
        self._load_rates()
        self._schedule_rotations()
        for failure in model.cluster.failures:
            self.agenda.at(seconds(failure.at, "failure time"), partial(self._fail_as_told, failure))

    @property
    def now_s(self) -> float:
        return float(self.state.world[0].now)

    def advance(self, until_s: float) -> None:
        """Let everything happen up to `until_s`."""
        while self.now_s < until_s:
            before = self.now_s
            self._run(min(until_s, self.agenda.next_time(), self._rates_end_s))
            self.fleet.pay(self.now_s - before)
            self.agenda.run_due(self.now_s)
            if self.now_s >= self._rates_end_s:
                self._load_rates()

    def _run(self, until_s: float) -> None:
        while engine.run(self._rows, until_s) == engine.NEEDS_MEMORY:
            self.state = tables.with_more_tuples(self.state)
            self._rows = addressed(self.state)

    def _load_rates(self) -> None:
        """Tell the event loop the rates of the next chunk of time, each slot's rate taken at its middle."""
        world, width = self.state.world[0], self.model.resolution_s
        world.chunk_start, world.chunk_width = self.now_s, width
        self._rates_end_s = self.now_s + CHUNK_SLOTS * width
        times = self.now_s + (np.arange(CHUNK_SLOTS) + 0.5) * width
        for position, name in enumerate(self.model.topology.sources):
            slots = slice(position * CHUNK_SLOTS, (position + 1) * CHUNK_SLOTS)
            self.state.rates.rate[slots] = self.model.source(name).load.rates(times)
        engine.wake_sources(self._rows)

    def _schedule_rotations(self) -> None:
        for position, name in enumerate(self.model.topology.sources):
            source = self.model.source(name)
            if source.rotate_every_s > 0 and source.weights is not None:
                distribution = int(self.state.sources[position].value)
                self._rotate(source.weights, source.rotate_every_s, source.rotate_by, distribution)

    def _rotate(self, weights: np.ndarray, every_s: float, by: int, distribution: int) -> None:
        def turn() -> None:
            rotated = np.roll(weights, by)
            set_weights(self.state, distribution, rotated)
            self._rotate(rotated, every_s, by, distribution)

        self.agenda.at(self.now_s + every_s, turn)

    # --- executors ---------------------------------------------------------------------------------------------

    def request(
        self, pool: str, number: int, operators: Sequence[str], node: str | None, process: int | None
    ) -> Executor:
        """Start a new executor; it serves `operators` when it is up and warm. A negative number is a standby."""
        executor = Executor(pool, number, self._new_row(), node, process)
        row = self.state.executors[executor.index]
        row.paused = 1
        row.speed = self._speed(node)
        row.node = self._node_index(node)
        row.process = self.fleet.free_process(pool) if process is None else process
        executor.process = int(row.process)
        self.fleet.join(executor)
        cluster = self.model.cluster
        up_s = self.now_s + seconds(cluster.start, "start") + seconds(cluster.warm_up, "warm_up")
        self.agenda.at(up_s, lambda: self._up(executor, operators))
        return executor

    def install(self, executor: Executor, operators: Sequence[str]) -> None:
        """Have `executor` serve at once: it was there before the run began."""
        self._open(executor, operators)

    def activate(self, standby: Executor, number: int, operators: Sequence[str]) -> None:
        """Give a warm standby a number and work."""
        self.fleet.renumber(standby, number)
        delay_s = seconds(self.model.cluster.activate, "activate")
        self.agenda.at(self.now_s + delay_s, lambda: self._open(standby, operators))
        self.agenda.run_due(self.now_s)

    def close(self, executor: Executor, operators: Iterable[str]) -> None:
        """Give `executor` no more work; it finishes what it has."""
        executor.phase = ExecutorPhase.LEAVING
        executor.closed_at = self.now_s
        self._take_from_lists(executor, operators)

    def empty(self, executor: Executor, operators: Iterable[str]) -> bool:
        """Whether nothing is left on `executor`: no record, no substream, no share in a batch under way."""
        row = self.state.executors[executor.index]
        if row.current != tables.NONE or row.queued > 0:
            return False
        if np.any(self.state.substreams.owner == executor.index):
            return False
        positions = [self.position[name] for name in operators]
        rows = self.state.operators[positions]
        return not np.any((rows.batch_rows > 0) & (rows.batch_started <= executor.closed_at))

    def remove(self, executor: Executor) -> None:
        """Let an empty executor go."""
        self.agenda.at(self.now_s + seconds(self.model.cluster.stop, "stop"), lambda: self._gone(executor))
        self.agenda.run_due(self.now_s)

    def stand_by(self, executor: Executor) -> None:
        """Keep an empty executor warm, without a number."""
        self.fleet.renumber(executor, self.fleet.next_standby())
        executor.phase = ExecutorPhase.WARM
        self.state.executors[executor.index].paused = 1

    def relocate(self, executor: Executor, node: str, process: int | None) -> None:
        """Move an executor with its work to another node; it is down as long as a new one takes to start."""
        row = self.state.executors[executor.index]
        executor.node, row.node = node, self._node_index(node)
        row.process = self.fleet.free_process(executor.pool) if process is None else process
        executor.process = int(row.process)
        self._pause_executors([executor.index], seconds(self.model.cluster.start, "start"))

    def _new_row(self) -> int:
        if self._free_rows:
            index = self._free_rows.pop()
        else:
            index = self._rows_used
            self._rows_used += 1
            if index >= len(self.state.executors):
                self.state = tables.with_more_executors(self.state)
                self._rows = addressed(self.state)
        tables.reset_executor(self.state, index)
        return index

    def _speed(self, node: str | None) -> float:
        cluster = self.model.cluster
        speed = next((each.speed for each in cluster.nodes if each.name == node), 1.0)
        return speed * (cluster.odd_speed if self._rng.random() < cluster.odd_share else 1.0)

    def _node_index(self, node: str | None) -> int:
        names = [each.name for each in self.model.cluster.nodes]
        return names.index(node) if node in names else tables.NONE

    def _up(self, executor: Executor, operators: Sequence[str]) -> None:
        if (executor.pool, executor.id) not in self.fleet.members or executor.phase is not ExecutorPhase.STARTING:
            return
        if executor.id < 0:
            executor.phase = ExecutorPhase.WARM
        else:
            self._open(executor, operators)

    def _open(self, executor: Executor, operators: Sequence[str]) -> None:
        """From now on records reach `executor`."""
        executor.phase = ExecutorPhase.ACTIVE
        row = self.state.executors[executor.index]
        row.accepting = 1
        for name in operators:
            operator = self.position[name]
            pool = self.state.operators[operator]
            self.state.server.executor[operator * self.state.world[0].width + pool.servers] = executor.index
            pool.servers += 1
        control.resume(self._rows, executor.index, self.position[operators[0]])
        for name in operators:
            self._wake(name)

    def _wake(self, operator: str) -> None:
        """Let work begin that waited for an executor."""
        position = self.position[operator]
        mode, grouping = self.state.operators[position].mode, self.state.operators[position].grouping
        if mode == tables.MICRO_BATCH:
            control.wake_batches(self._rows, position)
        elif mode == tables.OWN_QUEUES and grouping != tables.BY_KEY:
            control.deal_out(self._rows, position)

    def _take_from_lists(self, executor: Executor, operators: Iterable[str]) -> None:
        self.state.executors[executor.index].accepting = 0
        for name in operators:
            for table, count in (("server", "servers"), ("idle", "idles")):
                self._take_from_list(getattr(self.state, table).executor, count, self.position[name], executor.index)

    def _take_from_list(self, column: np.ndarray, count: str, operator: int, index: int) -> None:
        start = operator * int(self.state.world[0].width)
        length = int(self.state.operators[operator][count])
        kept = [each for each in column[start : start + length] if each != index]
        column[start : start + len(kept)] = kept
        self.state.operators[operator][count] = len(kept)

    def _gone(self, executor: Executor) -> None:
        if self.fleet.members.get((executor.pool, executor.id)) is executor:
            self.fleet.leave(executor)
            self._free_rows.append(executor.index)

    # --- substreams --------------------------------------------------------------------------------------------

    def moving(self, substream: int) -> bool:
        return substream in self._moving

    def install_substreams(self, operator: str, owners: Sequence[Executor]) -> None:
        """Say whose each substream is before the run begins."""
        first = int(self.state.operators[self.position[operator]].first_substream)
        for offset, executor in enumerate(owners):
            self.state.substreams[first + offset].owner = executor.index

    def move(self, operator: str, substreams: Sequence[int], target: Executor) -> None:
        """Hand substreams of one executor, numbered within the operator, to `target`."""
        position = self.position[operator]
        first = int(self.state.operators[position].first_substream)
        moved = [first + index for index in substreams]
        source = int(self.state.substreams[moved[0]].owner)
        duration_s = self._move_s(operator, moved)
        if self.state.operators[position].mode == tables.MICRO_BATCH:
            self._move_between_batches(moved, target, duration_s)
        else:
            self._move_between_queues(moved, source, target, duration_s)

    def _move_s(self, operator: str, substreams: Sequence[int]) -> float:
        model, cluster = self.model.operator(operator), self.model.cluster
        completed = float(np.sum(self.state.substreams.completed[list(substreams)]))
        state_bytes = model.state_bytes * len(substreams) + model.state_bytes_per_record * completed
        return seconds(cluster.move_delay, "move_delay") + state_bytes / cluster.bandwidth

    def _move_between_batches(self, substreams: Sequence[int], target: Executor, duration_s: float) -> None:
        """The next batch runs them on `target`, which loads their state first."""
        self.state.substreams.owner[list(substreams)] = target.index
        self.state.executors[target.index].extra_s += duration_s
        self._note_switch(duration_s, executors=1)

    def _move_between_queues(self, substreams: Sequence[int], source: int, target: Executor, duration_s: float) -> None:
        self._moving.update(substreams)
        for substream in substreams:
            control.hold(self._rows, substream)
        paused = self._paused_by_move(source, target.index)
        for index in paused:
            self.state.executors[index].paused += 1
        begun_s = self.now_s

        def finish() -> None:
            if np.any(self.state.substreams.serving[list(substreams)] == source):
                self.agenda.at(float(self.state.executors[source].done), finish)
                return
            for substream in substreams:
                control.give(self._rows, substream, target.index)
            self._moving.difference_update(substreams)
            self._resume_executors(paused)
            self._note_switch(self.now_s - begun_s, executors=max(len(paused), 1))

        self.agenda.at(self.now_s + duration_s, finish)

    def _paused_by_move(self, source: int, target: int) -> list[int]:
        if self.model.cluster.pause == "substream":
            return []
        if self.model.cluster.pause == "executors":
            return [source, target]
        return [executor.index for executor in self.fleet.members.values()]

    def _note_switch(self, duration_s: float, executors: int) -> None:
        self.switching_events += 1
        self.switching_s += duration_s
        self.switching_executor_s += duration_s * executors

    # --- pauses and failures -----------------------------------------------------------------------------------

    def pause_topology(self, duration_s: float) -> None:
        """Stop everything for a while, as engines do that restart for a change."""
        if duration_s <= 0:
            return
        self._pause_executors([executor.index for executor in self.fleet.members.values()], duration_s)
        self._pause_batches(list(self.position), duration_s)

    def _pause_executors(self, indices: list[int], duration_s: float) -> None:
        for index in indices:
            self.state.executors[index].paused += 1
        self.agenda.at(self.now_s + duration_s, lambda: self._resume_executors(indices))

    def _resume_executors(self, indices: Iterable[int]) -> None:
        alive = {executor.index: executor for executor in self.fleet.members.values()}
        for index in indices:
            if index in alive:
                control.resume(self._rows, index, self.position.get(alive[index].pool, 0))

    def _pause_batches(self, operators: Sequence[str], duration_s: float) -> None:
        for name in operators:
            self.state.operators[self.position[name]].paused += 1

        def go_on() -> None:
            for name in operators:
                self.state.operators[self.position[name]].paused -= 1
                self._wake(name)

        self.agenda.at(self.now_s + duration_s, go_on)

    def _fail_as_told(self, failure: Failure) -> None:
        executor = self.fleet.members.get((failure.operator, failure.executor))
        if executor is not None:
            self.fail(executor, [failure.operator], positive_seconds(failure.down, "down"))

    def fail(self, executor: Executor, operators: Sequence[str], down_s: float) -> None:
        """`executor` breaks down and is back after `down_s`; what it had under way is done again."""
        if executor.phase is not ExecutorPhase.ACTIVE:
            return
        executor.phase = ExecutorPhase.FAILED
        self.state.executors[executor.index].paused += 1
        control.interrupt(self._rows, executor.index)
        self._take_from_lists(executor, operators)
        for name in operators:
            self._fail_over(executor, name, down_s)
        self.agenda.at(self.now_s + down_s, lambda: self._recover(executor, operators))

    def _fail_over(self, executor: Executor, operator: str, down_s: float) -> None:
        position = self.position[operator]
        row = self.state.operators[position]
        if row.mode == tables.MICRO_BATCH:
            control.abandon_batch(self._rows, position)
            if row.grouping == tables.BY_KEY:
                self._pause_batches([operator], down_s)
            else:
                self._wake(operator)
        elif row.grouping != tables.BY_KEY:
            control.give_back(self._rows, executor.index, position)
            if row.mode == tables.OWN_QUEUES:
                control.deal_out(self._rows, position)

    def _recover(self, executor: Executor, operators: Sequence[str]) -> None:
        if executor.phase is ExecutorPhase.FAILED:
            self._open(executor, operators)

    # --- grouping ----------------------------------------------------------------------------------------------

    def regroup(self, operator: str, grouping: str) -> None:
        self.state.operators[self.position[operator]].grouping = GROUPINGS[grouping]
