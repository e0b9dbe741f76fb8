"""Spark meter: reads one snapshot of a Spark application, for a topology and for an attached application alike.

The control loop pulls it from what is there already: the records of committed batches, what waits in the streams, the
executor book, and the driver's status store. No query waits for it. Rows are exact; how they are divided over executors
and substreams is sampled (see `task_samples`).

An operator of a topology is busy as long as its finished batches worked, which is as exact as their rows. An executor's
busy time includes the batch under way and is a rougher estimate. An executor counts as one, whatever its number of
slots: it is busy all the time when all its slots are. What a task costs even if it has no rows is not busy time (see
`work_model`): it belongs to the fixed cost of a batch.

While executors are cold (see `cold_start`) rows are counted, but what they cost is unknown: busy times and the costs of
batches are None in a reading in which cold executors worked.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from rheostat.clock import Clock
from rheostat.names import OperatorName, PoolName
from rheostat.snapshot import (
    ExecutorPhase,
    ExecutorState,
    Latency,
    OperatorState,
    Snapshot,
    StreamState,
    SubstreamState,
)
from rheostat.spark.observe.cold_start import ColdStart
from rheostat.spark.observe.counters import RowCount, merged
from rheostat.spark.observe.executor_counters import ExecutorCounters
from rheostat.spark.observe.executor_time import ExecutorTime, HeldTime
from rheostat.spark.observe.node_usage import NodeUsage
from rheostat.spark.observe.running_batches import RunningBatch, RunningBatches
from rheostat.spark.observe.status_store import StatusStore
from rheostat.spark.observe.task_samples import BatchTasks, TaskSampler
from rheostat.spark.state.executor_book import ExecutorBook, PoolMember
from rheostat.spark.state.spark_state import SparkState

_SERVING = (ExecutorPhase.ACTIVE, ExecutorPhase.LEAVING)
_UNSEEN = "what each executor of pool {!r} does is unknown: on a local master one process is all of them"


class AnyOperatorMeter(Protocol):
    """Measures one operator: one of a topology, or an application as a whole.

    In each reading: `look`, `take_sample` if its batch was found, `expected_work`, `attribute_work`, then the rest.
    """

    name: OperatorName
    cold_start: ColdStart

    def look(self, running: Mapping[str, RunningBatch]) -> None:
        """Find what happened since the last reading; `running` are the batches under way, by run id."""
        ...

    @property
    def batches_to_sample(self) -> Mapping[str, int]:
        """The numbers of the batches whose tasks it needs, by run id."""
        ...

    def take_sample(self, run_id: str, tasks: BatchTasks) -> None:
        """The tasks of one of those batches."""
        ...

    @property
    def is_measured(self) -> bool:
        """Whether anything is known of it: nothing is if it is fused with an operator before it."""
        ...

    def expected_work(self, executor: str) -> tuple[float, float]:
        """Seconds that one of Spark's executors works on the batch under way, and seconds that this holds its slots."""
        ...

    def attribute_work(self, numbers: Mapping[str, int], slots: Mapping[str, int], busy_s: float | None) -> None:
        """Attribute what was done since the last reading to executors.

        `numbers` are those of the executors in its pool, `slots` those of all executors, by Spark's ids; `busy_s` is
        how long its pool was busy, None if that is unknown because it is cold.
        """
        ...

    def rows_by_executor(self) -> Mapping[int, float]:
        """Rows that each executor of its pool completed since the last reading, by number."""
        ...

    def queued_by_executor(self) -> Mapping[int, int] | None:
        """Rows that wait for each executor of its pool, by number; None if unknown."""
        ...

    def state(self, now_s: float, grouping: str | None) -> OperatorState: ...

    @property
    def groupings(self) -> tuple[str, ...]:
        """How its records can be spread now."""
        ...

    def substreams(self, owners: Sequence[int | None]) -> Sequence[SubstreamState]: ...

    def streams(self) -> Sequence[StreamState]: ...

    @property
    def latency_from_entry(self) -> Latency | None:
        """Of what left the topology at this operator since the last reading."""
        ...

    def problems(self) -> Sequence[str]:
        """What cannot be measured, in words."""
        ...


class SparkMeter:
    """`read` returns what happened up to now; latencies are those since the last reading.

    It takes the newest executor book from `state` at each reading. Counters continue from `base`, the last snapshot
    before the driver was restarted; give the same one to the `operators`.
    """

    def __init__(
        self,
        state: SparkState,
        operators: Sequence[AnyOperatorMeter],
        store: StatusStore,
        nodes: NodeUsage,
        clock: Clock,
        base: Snapshot | None = None,
    ) -> None:
        self._state, self._store, self._nodes, self._clock = state, store, nodes, clock
        self._operators = {operator.name: operator for operator in operators}
        self._sampler, self._running, self._executor_time = (
            TaskSampler(store),
            RunningBatches(store),
            ExecutorTime(store),
        )
        self._executors = ExecutorCounters(base)
        self._read_s = clock.now()
        self._unknown: frozenset[PoolName] = frozenset()

    def read(self) -> Snapshot:
        book, now_s = self._state.book, self._clock.now()
        executors, active = self._store.executors(), self._store.active_stages()
        members = book.members()
        held = self._executor_time.update(executors, active, now_s)
        running = self._running.update(active)
        operators = self._operators.values()
        were_cold = self._cold_pools(book)
        for operator in operators:
            operator.look(running)
        self._sample()
        working = self._working(members, held)
        for operator in operators:
            operator.cold_start.work(working.get(book.pool_of[operator.name], ()), now_s - self._read_s)
        self._read_s = now_s
        self._count(book, members, held, self._judge(working, were_cold, self._cold_pools(book)))
        self._nodes.see(each.executor for each in held)
        return Snapshot(
            time_s=now_s,
            operator_states=tuple(each.state(now_s, book.groupings.get(each.name)) for each in operators),
            executors=tuple(self._executor(member, book) for member in members),
            substreams=tuple(state for each in operators for state in each.substreams(_owners(book, each.name))),
            streams=tuple(stream for each in operators for stream in each.streams()),
            nodes=self._nodes.read(),
            latency=merged(each.latency_from_entry for each in operators),
            problems=self._problems(book),
        )

    def groupings(self) -> dict[OperatorName, tuple[str, ...]]:
        """How the records of each operator can be spread now."""
        return {name: operator.groupings for name, operator in self._operators.items()}

    def _sample(self) -> None:
        """The tasks of the last batch of each query."""
        to_sample = [
            (each, run, batch) for each in self._operators.values() for run, batch in each.batches_to_sample.items()
        ]
        samples = self._sampler.sample({run_id: batch for _, run_id, batch in to_sample})
        for operator, run_id, _ in to_sample:
            if run_id in samples:
                operator.take_sample(run_id, samples[run_id])

    def _cold_pools(self, book: ExecutorBook) -> frozenset[PoolName]:
        """The pools of which an operator is warming up."""
        cold = (operator for operator in self._operators.values() if operator.cold_start.is_cold)
        return frozenset(book.pool_of[operator.name] for operator in cold if operator.is_measured)

    def _working(self, members: Sequence[PoolMember], held: Sequence[HeldTime]) -> dict[PoolName, set[str]]:
        """The executors of each pool that worked since the last reading, by Spark's ids. Warm-ups are no work."""
        grown_s = self._executors.grown_s({each.executor.id: each.held_s for each in held})
        working: dict[PoolName, set[str]] = {}
        for pool, _, phase, executor in members:
            if phase in _SERVING and executor is not None and grown_s.get(executor.id):
                working.setdefault(pool, set()).add(executor.id)
        return working

    def _judge(
        self, working: Collection[PoolName], were_cold: frozenset[PoolName], are_cold: frozenset[PoolName]
    ) -> frozenset[PoolName]:
        """Find the pools whose busy time is unknown now; returns those in which the time since the last reading does
        not count.

        When a pool has become warm its counters are known at once if they were unknown, so that the next reading can be
        compared with this one. Otherwise this one would seem to show an idle pool.
        """
        uncounted = (were_cold | are_cold).intersection(working)
        self._unknown = uncounted & (are_cold | (were_cold - self._unknown))
        return uncounted

    def _count(
        self,
        book: ExecutorBook,
        members: Sequence[PoolMember],
        held: Sequence[HeldTime],
        uncounted: frozenset[PoolName],
    ) -> None:
        """Count what executors did since the last reading: their time, and the rows of all operators."""
        shares = {
            each.executor.id: 0.0 if each.pool in uncounted else self._work_share(each, book)
            for each in members
            if each.executor is not None
        }
        busy_s = self._executors.add_time(members, {each.executor.id: each.held_s for each in held}, shares)
        slots = {each.executor.id: each.executor.slots for each in held}
        for operator in self._operators.values():
            pool = book.pool_of[operator.name]
            numbers = {e.executor.id: e.number for e in members if e.pool == pool and e.executor is not None}
            operator.attribute_work(numbers, slots, None if pool in self._unknown else busy_s.get(pool, 0.0))
            self._executors.add_rows(pool, operator.rows_by_executor())

    def _work_share(self, member: PoolMember, book: ExecutorBook) -> float:
        """The share of the time that tasks hold an executor which is work: known from samples, 1 without one.

        An executor that does not serve yet only warms up.
        """
        if member.phase not in _SERVING or member.executor is None:
            return 0.0
        expected = [each.expected_work(member.executor.id) for each in self._measured(member.pool, book)]
        held_s = sum(held_s for _, held_s in expected)
        return sum(worked_s for worked_s, _ in expected) / held_s if held_s else 1.0

    def _measured(self, pool: PoolName, book: ExecutorBook) -> list[AnyOperatorMeter]:
        """The operators that `pool` serves; of fused ones the first, which stands for all."""
        return [operator for name in book.operators_of(pool) if (operator := self._operators[name]).is_measured]

    def _executor(self, member: PoolMember, book: ExecutorBook) -> ExecutorState:
        """A requested executor has the counters of the one before it; on a local master there are none."""
        pool, number, phase, executor = member
        if executor is None and phase is ExecutorPhase.ACTIVE:
            return ExecutorState(pool, number, phase)
        rows = self._rows_of(member, book)
        host = None if executor is None else executor.host
        return ExecutorState(
            pool,
            number,
            phase,
            arrived=None if rows is None else rows.arrived,
            completed=None if rows is None else rows.completed,
            queued=None if rows is None else rows.queued,
            busy_s=None if pool in self._unknown and phase in _SERVING else self._executors.busy_s(pool, number),
            node=None if host is None else self._nodes.names.get(host, host),
            instance=None if executor is None else executor.id,
        )

    def _rows_of(self, member: PoolMember, book: ExecutorBook) -> RowCount | None:
        """What it did for all operators that it serves; None if that is unknown for one of them."""
        queued = [operator.queued_by_executor() for operator in self._measured(member.pool, book)]
        known = [each for each in queued if each is not None]
        if not queued or len(known) < len(queued):
            return None
        return self._executors.rows(member.pool, member.number, sum(each.get(member.number, 0) for each in known))

    def _problems(self, book: ExecutorBook) -> tuple[str, ...]:
        """Each once: a failed query ends the whole topology, and every operator reports it."""
        told = [problem for operator in self._operators.values() for problem in operator.problems()]
        unseen = [_UNSEEN.format(pool) for pool in book.pools if book.virtual]
        return tuple(dict.fromkeys([*told, *unseen, *self._nodes.problems()]))


def _owners(book: ExecutorBook, operator: OperatorName) -> Sequence[int | None]:
    return book.owner_numbers(operator) if operator in book.owners else ()
