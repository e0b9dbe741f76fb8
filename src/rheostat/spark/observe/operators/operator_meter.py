"""Operator meter: the measurements of one operator of a topology, from one reading to the next."""

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.grouping.check import KEY, ROUND_ROBIN
from rheostat.names import OperatorName
from rheostat.snapshot import (
    BatchUnderWay,
    Latency,
    OperatorState,
    PartitionState,
    Snapshot,
    StreamState,
    SubstreamState,
)
from rheostat.spark.observe.batch_work import BatchWork
from rheostat.spark.observe.cold_start import COLD_BATCHES, ColdStart
from rheostat.spark.observe.counters import last_state, merged
from rheostat.spark.observe.operators.backlog import Backlog
from rheostat.spark.observe.operators.batch_feed import BatchFeed
from rheostat.spark.observe.operators.substream_meter import SubstreamMeter
from rheostat.spark.observe.operators.variability import ServiceVariability
from rheostat.spark.observe.query_progress import parse_progress
from rheostat.spark.observe.running_batches import RunningBatch
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.query.grouping.named_groupings import groupings_for
from rheostat.spark.query.runtime import Runtime


def operator_meters(
    runtime: Runtime, base: Snapshot | None = None, cold_batches: int = COLD_BATCHES
) -> list["OperatorMeter"]:
    """One meter for each operator of the runtime's topology."""
    return [OperatorMeter(runtime, name, base, cold_batches) for name in runtime.topology.operators]


class OperatorMeter:
    """One operator. Counters continue from `base`, and when it is fused or split.

    Of operators that are fused into one query only the first is measured: the rows between them are in no stream.
    The first `cold_batches` of a query count as rows, but are no evidence of what they cost.
    """

    def __init__(
        self,
        runtime: Runtime,
        name: OperatorName,
        base: Snapshot | None = None,
        cold_batches: int = COLD_BATCHES,
    ) -> None:
        operator = runtime.topology.operators[name]
        self.name = name
        self.cold_start = ColdStart(cold_batches, by_samples=True)
        self._runtime = runtime
        self._groupings = groupings_for(operator)
        self._feed = BatchFeed(runtime, name)
        self._backlog = Backlog(name, base)
        self._work = BatchWork(last_state(name, base), self.cold_start)
        self._substreams = SubstreamMeter(name, operator.substream_count, base)
        self._has_state = operator.substream_count > 0
        self._service_variability = ServiceVariability()
        self._service_scv: float | None = None
        self._latency: Latency | None = None
        self._latency_from_entry: Latency | None = None
        self._attributed = self._backlog.completed
        self._running: RunningBatch | None = None
        self._slots: Mapping[str, int] = {}
        self._is_work_unknown = False
        self._executor_shares: dict[int, float] = {}
        self._rows_by_executor: dict[int, float] = {}

    @property
    def is_measured(self) -> bool:
        """Whether it is the first operator of a running query."""
        return self._feed.query is not None

    @property
    def batches_to_sample(self) -> Mapping[str, int]:
        """The number of its last batch, by run id."""
        return {} if self._feed.newest is None else dict([self._feed.newest])

    @property
    def latency_from_entry(self) -> Latency | None:
        """Of the results that left the topology here since the last reading."""
        return self._latency_from_entry if self.name in self._runtime.topology.terminals else None

    def look(self, running: Mapping[str, RunningBatch]) -> None:
        """Find the batches committed since the last reading, the one of the `running` ones that is its own, and what
        waits now."""
        self._feed.update()
        if self._feed.is_new:
            self.cold_start.restart()
        for batch in self._feed.own:
            self._backlog.add(batch)
            self._work.add(batch)
        self._running = self._own(running)
        self._backlog.update(self._runtime.waiting(self.name) if self.is_measured else None)
        self._latency = merged(batch.waited for batch in self._feed.own)
        self._latency_from_entry = merged(batch.latency for batch in self._feed.batches)
        self._service_scv = self._service_variability.update(self._runtime.timings(self.name))
        if self._feed.own and self._has_state:
            self._read_state_size()

    def take_sample(self, run_id: str, tasks: BatchTasks) -> None:
        """The tasks of its last batch."""
        self._work.take_sample(tasks, self._runtime.timings(self.name) if self._feed.is_alone else None)

    def expected_work(self, executor: str) -> tuple[float, float]:
        """Seconds that one of Spark's executors works on the batch under way, and seconds that this holds its slots."""
        sample = self._work.sample
        return (
            (0.0, 0.0) if sample is None else sample.expected(executor, self._backlog.rows_under_way() or sample.rows)
        )

    def attribute_work(self, numbers: Mapping[str, int], slots: Mapping[str, int], busy_s: float | None) -> None:
        """Divide the rows completed since the last reading over executors and substreams, as in the sampled batch.

        `numbers` are those of the executors in its pool, `slots` those of all executors, by Spark's ids. How long the
        pool was busy does not matter: work is known from batches, as exactly as their rows. But while that is unknown
        because executors are cold (`busy_s` is None), so is what batches cost.
        """
        self._rows_by_executor, self._slots = {}, slots
        self._is_work_unknown = busy_s is None
        if self._is_work_unknown:
            self._work.suspend()
        if (tasks := self._work.tasks) is None:
            return
        rows, self._attributed = self._backlog.completed - self._attributed, self._backlog.completed
        shares = tasks.by_executor()
        self._executor_shares = {numbers[id_]: share for id_, share in shares.items() if id_ in numbers}
        self._rows_by_executor = {number: rows * share for number, share in self._executor_shares.items()}
        self._substreams.add(rows, tasks)
        if not self._is_work_unknown:
            self._work.charge(slots)

    def rows_by_executor(self) -> Mapping[int, float]:
        """Rows that each executor of its pool completed since the last reading, by number."""
        return self._rows_by_executor

    def queued_by_executor(self) -> Mapping[int, int] | None:
        """Rows that wait for each executor, if these process the shares that they had in the sampled batch."""
        queued = self._backlog.queued
        if self._work.tasks is None or queued is None:
            return None
        return {number: round(queued * share) for number, share in self._executor_shares.items()}

    def state(self, now_s: float, grouping: str | None) -> OperatorState:
        """`grouping` is the planned one; None for the usual one."""
        if not self.is_measured:
            return OperatorState(self.name)
        return OperatorState(
            self.name,
            arrived=self._backlog.arrived,
            completed=self._backlog.completed,
            lost=0,
            queued=self._backlog.queued,
            busy_s=self._work.busy_s,
            latency=self._latency,
            oldest_s=self._backlog.oldest_s(now_s),
            arrival_scv=self._backlog.arrival_scv(),
            service_scv=self._service_scv,
            batch=self._work.batch,
            grouping=KEY if self._groupings == (KEY,) else grouping or ROUND_ROBIN,
            under_way=self._under_way(now_s),
        )

    @property
    def groupings(self) -> tuple[str, ...]:
        """How its rows can be spread now; nothing can be chosen where a source or a keyed operator decides."""
        return self._groupings if self._feed.can_regroup else ()

    def substreams(self, owners: Sequence[int | None]) -> list[SubstreamState]:
        """Its substreams; `owners` are the numbers of the executors that have them."""
        return self._substreams.states(owners, self._backlog.queued)

    def streams(self) -> list[StreamState]:
        """The streams that it reads."""
        names = [stream.name for stream in self._runtime.topology.into(self.name)]
        topics = self._runtime.partitions(self.name)
        return [self._stream(name, topics.get(name, ())) for name in names]

    def _stream(self, name: str, partitions: tuple[PartitionState, ...]) -> StreamState:
        counter = self._backlog.stream(name)
        if counter is None:
            return StreamState(name, self.name, partitions=partitions)
        until_s = counter.until_s if name in self._runtime.topology.sources else None
        return StreamState(name, self.name, counter.rows, counter.known_bytes, partitions, until_s)

    def problems(self) -> list[str]:
        """What cannot be measured, in words."""
        failure = self._runtime.failure
        return ([] if failure is None else [str(failure)]) + self._unknowns()

    def _own(self, running: Mapping[str, RunningBatch]) -> RunningBatch | None:
        """The batch under way of its query. One that was seen to run may have finished since."""
        run_id, last = self._feed.newest or ("", 0)
        batch = running.get(run_id)
        return batch if batch is not None and batch.number > last else None

    def _under_way(self, now_s: float) -> BatchUnderWay | None:
        """Its rows are not known while the commit of the batch before it was not seen: a few of them would be taken for
        all, and a record would seem to cost many times as much."""
        if self._running is None:
            return None
        follows_last = self._feed.newest is not None and self._running.number == self._feed.newest[1] + 1
        rows = self._backlog.rows_under_way() or None if follows_last else None
        return self._work.under_way(self._running, rows, self._slots, now_s)

    def _unknowns(self) -> list[str]:
        if not self._feed.is_running:
            return [f"operator {self.name!r} is not measured yet: its query has not started"]
        if not self.is_measured:
            return [f"operator {self.name!r} is fused with the one before it: its rows are not measured"]
        unknown = []
        if not self._backlog.is_known:
            why = self._runtime.stream_problem(self.name) or "its query is still starting"
            unknown.append(f"the backlog of operator {self.name!r} is unknown: {why}")
        elif not self._feed.reads_streams:
            unknown.append(f"operator {self.name!r} is fused with its source: rows count as arrived when read")
        cold = self.cold_start.problem(self.name, is_work_unknown=self._is_work_unknown)
        if cold is not None:
            unknown.append(cold)
        elif self._work.sample is None:
            unknown.append(f"the work of operator {self.name!r} is unknown: none of its batches has been sampled yet")
        if self._substreams.state_bytes is not None:
            unknown.append(f"Spark reports the state of operator {self.name!r} as a whole: substreams get even shares")
        return unknown

    def _read_state_size(self) -> None:
        query: Any = self._feed.query
        progress = None if query is None else query._jsq.lastProgress()
        record = None if progress is None else parse_progress(progress.json())
        if record is not None:
            self._substreams.state_bytes = record.state_bytes
