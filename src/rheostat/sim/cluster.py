"""The simulated cluster: time passes, executors come, go and fail, substreams change hands.

Mechanism only: what should happen is said by `plant`, which follows a plan.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from rheostat.duration import positive_seconds, seconds
from rheostat.errors import PlantError
from rheostat.sim import control, engine
from rheostat.sim import state as tables
from rheostat.sim.agenda import Agenda
from rheostat.sim.build import CHUNK_SLOTS, build, grouping_code, set_weights, with_grouping
from rheostat.sim.fleet import Executor, Fleet
from rheostat.sim.heap import SUBJECT_BITS
from rheostat.sim.jit import addressed
from rheostat.sim.model import Failure, SimModel
from rheostat.snapshot import ExecutorPhase

MOST_RECORDS = 1 << SUBJECT_BITS


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
        self._now = self.state.world.view(np.ndarray)["now"]
        self._rates = self.state.rates.view(np.ndarray)["rate"].reshape(-1, CHUNK_SLOTS)
        self._tables = addressed(self.state)
        self._free_rows: list[int] = []
        self._rows_used = 0
        self._moving: dict[int, Executor] = {}
        self._still_until_s = 0.0
        self._load_rates()
        self._schedule_rotations()
        for failure in model.cluster.failures:
            self.agenda.at(seconds(failure.at, "failure time"), partial(self._fail_as_told, failure))

    @property
    def now_s(self) -> float:
        return float(self._now[0])

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
        while engine.run(self._tables, float(until_s)) == engine.NEEDS_MEMORY:
            if len(self.state.tuples) >= MOST_RECORDS:
                raise PlantError(
                    f"{MOST_RECORDS:,} records are in the system after {self.now_s:g} s, which is all that can be "
                    "simulated: lower the load, bound the queues (capacity), or add executors"
                )
            self.state = tables.with_more_tuples(self.state)
            self._tables = addressed(self.state)

    def _do(self, verb: int, subject: int = tables.NONE, target: int = tables.NONE) -> None:
        control.act(self._tables, verb, int(subject), int(target))

    def _load_rates(self) -> None:
        """Tell the event loop the rates of the next chunk of time, each slot's rate taken at its middle."""
        world, width = self.state.world[0], self.model.resolution_s
        world.chunk_start, world.chunk_width = self.now_s, width
        self._rates_end_s = self.now_s + CHUNK_SLOTS * width
        times = self.now_s + (np.arange(CHUNK_SLOTS) + 0.5) * width
        for slots, name in zip(self._rates, self.model.topology.sources, strict=True):
            slots[:] = self.model.source(name).load.rates(times)
        self._do(control.WAKE_SOURCES)

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
        executor = Executor(pool, number, self._new_row(), tuple(operators), node, process)
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
        """Give `executor` no more work, except for the substreams that it still has; it finishes what is there."""
        executor.phase = ExecutorPhase.LEAVING
        self._take_from_lists(executor, [name for name in operators if not self._is_needed(executor, name)])

    def empty(self, executor: Executor, operators: Iterable[str]) -> bool:
        """Whether nothing is left on `executor`, and nothing on its way to it: no record, no substream."""
        row = self.state.executors[executor.index]
        if row.arrived > row.completed + row.handed_on or any(self._owns(executor, name) for name in operators):
            return False
        return executor not in self._moving.values()

    def _is_needed(self, executor: Executor, operator: str) -> bool:
        """Whether records must still reach `executor`, since their substreams are there."""
        by_key = self.state.operators[self.position[operator]].grouping == tables.BY_KEY
        return bool(by_key) and self._owns(executor, operator)

    def _owns(self, executor: Executor, operator: str) -> bool:
        row = self.state.operators[self.position[operator]]
        first = int(row.first_substream)
        return bool(np.any(self.state.substreams.owner[first : first + int(row.substreams)] == executor.index))

    def remove(self, executor: Executor) -> None:
        """Let an empty executor go."""
        if executor.stopping:
            return
        executor.stopping = True
        executor.phase = ExecutorPhase.LEAVING
        self._take_from_lists(executor, executor.operators)
        self.agenda.at(self.now_s + seconds(self.model.cluster.stop, "stop"), lambda: self._gone(executor))
        self.agenda.run_due(self.now_s)

    def stand_by(self, executor: Executor) -> None:
        """Keep an empty executor warm, without a number."""
        if executor.stopping:
            return
        self._take_from_lists(executor, executor.operators)
        self.fleet.renumber(executor, self.fleet.next_standby())
        executor.phase = ExecutorPhase.WARM
        self.state.executors[executor.index].paused += 1

    def relocate(self, executor: Executor, node: str, process: int | None) -> None:
        """Move an executor with its work to another node; it is down as long as a new one takes to start."""
        row = self.state.executors[executor.index]
        busy = int(row.current != tables.NONE) + int(row.rows > 0)
        self._count_busy(row.node, -busy)
        executor.node, row.node = node, self._node_index(node)
        self._count_busy(row.node, busy)
        row.speed = self._speed(node)
        row.process = self.fleet.free_process(executor.pool) if process is None else process
        executor.process = int(row.process)
        self._pause_executors([executor], seconds(self.model.cluster.start, "start"))

    def _count_busy(self, node: int, executors: int) -> None:
        if node != tables.NONE:
            self.state.nodes[node].busy += executors

    def _new_row(self) -> int:
        if self._free_rows:
            index = self._free_rows.pop()
        else:
            index = self._rows_used
            self._rows_used += 1
            if index >= len(self.state.executors):
                self.state = tables.with_more_executors(self.state)
                self._tables = addressed(self.state)
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
        if not self.fleet.has(executor) or executor.phase is not ExecutorPhase.STARTING:
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
        row.home = self._shared_home(operators)
        for name in operators:
            operator = self.position[name]
            pool = self.state.operators[operator]
            self.state.server.executor[operator * self.state.world[0].width + pool.servers] = executor.index
            pool.servers += 1
            self._do(control.RESIZED, operator)
        if self.stands_still:
            self._pause_executors([executor], self._still_until_s - self.now_s)
        self._do(control.RESUME, executor.index)
        for name in operators:
            self._wake(name)

    def _shared_home(self, operators: Sequence[str]) -> int:
        """The first of the operators that queue for all of their executors together; its list serves them all."""
        positions = [self.position[name] for name in operators]
        sharing = [each for each in positions if self.state.operators[each].mode == tables.SHARED_QUEUE]
        home = sharing[0] if sharing else tables.NONE
        self.state.operators.home[sharing] = home
        return home

    def _wake(self, operator: str) -> None:
        """Let work begin that waited for an executor."""
        position = self.position[operator]
        mode, grouping = self.state.operators[position].mode, self.state.operators[position].grouping
        if mode == tables.MICRO_BATCH:
            self._do(control.WAKE_BATCHES, position)
        elif grouping != tables.BY_KEY:
            self._do(control.DEAL_OUT, position)

    def _take_from_lists(self, executor: Executor, operators: Iterable[str]) -> None:
        row = self.state.executors[executor.index]
        row.accepting = row.listed = 0
        for name in operators:
            for table, count in (("server", "servers"), ("idle", "idles")):
                self._take_from_list(getattr(self.state, table).executor, count, self.position[name], executor.index)
            self._do(control.RESIZED, self.position[name])

    def _take_from_list(self, column: np.ndarray, count: str, operator: int, index: int) -> None:
        start = operator * int(self.state.world[0].width)
        length = int(self.state.operators[operator][count])
        kept = [each for each in column[start : start + length] if each != index]
        column[start : start + len(kept)] = kept
        self.state.operators[operator][count] = len(kept)

    def _gone(self, executor: Executor) -> None:
        """Its row is free for another when no record can be on its way to it any more."""
        self.fleet.leave(executor)
        hop_s = float(self.state.world[0].longest_hop_s)
        self.agenda.at(self.now_s + hop_s, lambda: self._free_rows.append(executor.index))

    # --- substreams --------------------------------------------------------------------------------------------

    def moving(self, substream: int) -> bool:
        return substream in self._moving

    def install_substreams(self, operator: str, owners: Sequence[Executor]) -> None:
        """Say whose each substream is before the run begins."""
        first = int(self.state.operators[self.position[operator]].first_substream)
        for offset, executor in enumerate(owners):
            self._do(control.GIVE, first + offset, executor.index)

    def move(self, operator: str, substreams: Sequence[int], target: Executor) -> None:
        """Hand substreams of one executor, numbered within the operator, to `target`."""
        position = self.position[operator]
        first = int(self.state.operators[position].first_substream)
        moved = [first + index for index in substreams]
        source = self._owner(moved[0])
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

    def _move_between_queues(
        self, substreams: Sequence[int], source: Executor, target: Executor, duration_s: float
    ) -> None:
        self._moving.update(dict.fromkeys(substreams, target))
        for substream in substreams:
            self._do(control.HOLD, substream)
        paused = self._paused_by_move(source, target)
        self._pause(paused)
        begun_s = self.now_s

        def finish() -> None:
            if np.any(self.state.substreams.serving[list(substreams)] != tables.NONE):
                self.agenda.at(float(self.state.executors[source.index].done), finish)
                return
            for substream in substreams:
                self._do(control.GIVE, substream, target.index)
                del self._moving[substream]
            self._resume(paused)
            self._note_switch(self.now_s - begun_s, executors=max(len(paused), 1))

        self.agenda.at(self.now_s + duration_s, finish)

    def _owner(self, substream: int) -> Executor:
        index = self.state.substreams[substream].owner
        return next(executor for executor in self.fleet.members.values() if executor.index == index)

    def _paused_by_move(self, source: Executor, target: Executor) -> list[Executor]:
        if self.model.cluster.pause == "substream":
            return []
        if self.model.cluster.pause == "executors":
            return [source, target]
        return list(self.fleet.members.values())

    def _note_switch(self, duration_s: float, executors: int) -> None:
        self.switching_events += 1
        self.switching_s += duration_s
        self.switching_executor_s += duration_s * executors

    # --- pauses and failures -----------------------------------------------------------------------------------

    @property
    def stands_still(self) -> bool:
        """Whether the whole topology is paused now."""
        return self.now_s < self._still_until_s

    def pause_topology(self, duration_s: float) -> None:
        """Stop everything for a while, as engines do that restart for a change."""
        if duration_s <= 0:
            return
        self._still_until_s = max(self._still_until_s, self.now_s + duration_s)
        self._pause_executors(list(self.fleet.members.values()), duration_s)
        self._pause_batches(list(self.position), duration_s)

    def lose_what_waits(self, executors: Iterable[Executor], operators: Iterable[str]) -> None:
        """What these executors serve and have queued goes down with them; micro-batches are read again."""
        for executor in executors:
            self._do(control.LOSE_QUEUE, executor.index)
        for name in operators:
            if self.state.operators[self.position[name]].mode == tables.SHARED_QUEUE:
                self._do(control.LOSE_WAITING, self.position[name])

    def _pause_executors(self, executors: Sequence[Executor], duration_s: float) -> None:
        self._pause(executors)
        for executor in executors:
            row = self.state.executors[executor.index]
            row.away_until = max(row.away_until, self.now_s + duration_s)
        self.agenda.at(self.now_s + duration_s, lambda: self._resume(executors))

    def _pause(self, executors: Iterable[Executor]) -> None:
        for executor in executors:
            self.state.executors[executor.index].paused += 1

    def _resume(self, executors: Iterable[Executor]) -> None:
        for executor in executors:
            if self.fleet.has(executor):
                self._do(control.RESUME, executor.index)

    def _pause_batches(self, operators: Sequence[str], duration_s: float) -> None:
        for name in operators:
            self.state.operators[self.position[name]].paused += 1

        def go_on() -> None:
            for name in operators:
                self.state.operators[self.position[name]].paused -= 1
                self._wake(name)

        self.agenda.at(self.now_s + duration_s, go_on)

    def _fail_as_told(self, failure: Failure) -> None:
        for executor in self.fleet.members.values():
            if executor.id == failure.executor and failure.operator in executor.operators:
                self.fail(executor, executor.operators, positive_seconds(failure.down, "down"))

    def fail(self, executor: Executor, operators: Sequence[str], down_s: float) -> None:
        """`executor` breaks down and is back after `down_s`; what it had under way is done again."""
        if executor.phase is not ExecutorPhase.ACTIVE:
            return
        executor.phase = ExecutorPhase.FAILED
        self.state.executors[executor.index].paused += 1
        self._do(control.INTERRUPT, executor.index)
        self._take_from_lists(executor, operators)
        for name in operators:
            self._fail_over(executor, name, down_s)
        self.agenda.at(self.now_s + down_s, lambda: self._recover(executor, operators))

    def _fail_over(self, executor: Executor, operator: str, down_s: float) -> None:
        position = self.position[operator]
        row = self.state.operators[position]
        if row.mode == tables.MICRO_BATCH:
            self._do(control.ABANDON_BATCH, position)
            if row.grouping == tables.BY_KEY:
                self._pause_batches([operator], down_s)
            else:
                self._wake(operator)
        elif row.grouping != tables.BY_KEY:
            self._do(control.GIVE_BACK, executor.index, position)
            self._do(control.DEAL_OUT, position)

    def _recover(self, executor: Executor, operators: Sequence[str]) -> None:
        if executor.phase is ExecutorPhase.FAILED:
            self._open(executor, operators)

    # --- grouping ----------------------------------------------------------------------------------------------

    def regroup(self, operator: str, grouping: str) -> None:
        """Spread records that come from now on in another way; those in queues stay there."""
        position, code = self.position[operator], grouping_code(self.model, operator, grouping)
        if self.state.operators[position].grouping == code:
            return
        self.state = with_grouping(self.state, position, code)
        self._tables = addressed(self.state)
        self._do(control.RESIZED, position)
