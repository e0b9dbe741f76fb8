"""The figures of one operator that runs on Spark, from one reading to the next."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from rheostat.grouping.check import KEY, LOAD_AWARE
from rheostat.names import OperatorName, PoolName
from rheostat.snapshot import Batch, Latency, OperatorState, Snapshot, SubstreamState
from rheostat.spark.act.task_counts import BY_KEY, USUAL_GROUPING
from rheostat.spark.observe.counters import Portion, Split, Spread, Traffic, merged
from rheostat.spark.observe.query_progress import parse_progress
from rheostat.spark.observe.service_variation import ServiceSpread
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.observe.work_model import Works
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.grouping.balanced import choices
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.unit_query import UnitQuery
from rheostat.spark.streams.stream import Arrival


class OperatorMeter:
    """One operator. In each reading: `look`, `take` a new sample if there is one, `book`, then ask.

    Of operators that are fused into one query, the first one is measured; the others' rows do not show. When it gets
    another query, because it was fused or split, its counters go on.
    """

    def __init__(self, runtime: Runtime, name: OperatorName, base: Snapshot | None = None) -> None:
        self.name = name
        self._runtime = runtime
        operator = runtime.topology.operators[name]
        self._substream_count = operator.substream_count
        self._groupings = (KEY,) if operator.keyed else (USUAL_GROUPING, LOAD_AWARE, BY_KEY, *choices(operator))
        self._ran_in: UnitQuery | None = None
        self._pool: str | None = None
        self._asked: StreamingQuery | None = None
        self._run_id: str | None = None
        self._sample: BatchTasks | None = None
        self._works = Works()
        self._worked_s: dict[str, float] = {}
        self._held_s: dict[str, float] = {}
        self._last_rows = self._sampled_rows = 0
        self.last_batch = -1
        self.entry_latency: Latency | None = None
        self._latency: Latency | None = None
        self._fresh: tuple[BatchRecord, ...] = ()
        self._waiting: dict[str, tuple[Arrival, ...]] | None = None
        self._arrivals = Spread()
        self._last_start_s: float | None = None
        self._last_end_s: float | None = None
        self._state_bytes: int | None = None
        self._service = ServiceSpread()
        self._service_scv: float | None = None
        self._resume(base)

    def _resume(self, base: Snapshot | None) -> None:
        """Go on counting from what an earlier run of the driver had counted."""
        before = (base.operators.get(self.name) if base is not None else None) or OperatorState(self.name)
        streams = [] if base is None else [s for s in base.streams if s.consumer == self.name]
        substreams = [] if base is None else base.substreams_of(self.name)
        batch = before.batch or Batch(0, 0.0, 0.0, 0)
        self._completed = before.completed or 0
        self._arrived = before.arrived or 0
        self._worked_so_far_s = before.busy_s or 0.0
        self._batches, self._duration_s = batch.count, batch.duration_s
        self._fixed_s, self._tasks = batch.fixed_s or 0.0, float(batch.tasks or 0)
        self._resumed = base is not None
        read = self._completed / self._arrived if self._arrived else 1.0
        self._by_stream = {stream.name: round((stream.rows or 0) * read) for stream in streams}
        self._traffic = {stream.name: Traffic(stream.rows or 0, stream.bytes or 0) for stream in streams}
        executors = () if base is None else base.executors_of(PoolName(self.name))  # a pool of its own has its name
        self._by_executor = Split({state.id: state.completed or 0 for state in executors})
        self._by_substream = Split({state.index: state.completed or 0 for state in substreams})
        self._unbooked = 0
        self._executor_shares: dict[int, float] = {}
        self._substream_shares: list[float] | None = None

    @property
    def run_id(self) -> str | None:
        """Of the query that runs it; None for the operators that a query begins with another one's."""
        query = self._query()
        if query is not self._asked:
            self._asked, self._run_id = query, None if query is None else str(query.runId)
        return self._run_id

    def look(self) -> None:
        """Take note of the batches that were committed since the last look, and of what waits now."""
        seen = self._take_note()
        self.entry_latency = merged(batch.latency for batch in seen)
        if not self.is_first:
            self._waiting = self._latency = None
            return
        self._waiting = self._not_committed()
        if self._waiting is not None:
            self._book_arrivals(sum(map(_rows, self._waiting.values())))
        self._latency = merged(batch.waited for batch in self._fresh)
        self._service_scv = self._service.update(self._runtime.timings(self.name))
        if self._fresh and self._substream_count:
            self._state_bytes = self._state()

    def _take_note(self) -> list[BatchRecord]:
        """Count the new batches of the query that runs it, and those left of the one before; all of them."""
        query = self._running_in()
        self._fresh = ()
        seen: list[BatchRecord] = []
        if query is not self._ran_in and self._ran_in is not None:
            seen += self._count_all(self._ran_in)
        if query is not self._ran_in:
            self._ran_in, self.last_batch = query, -1
        return seen if query is None else [*seen, *self._count_all(query)]

    def _count_all(self, query: UnitQuery) -> tuple[BatchRecord, ...]:
        fresh: tuple[BatchRecord, ...] = query.batches.after(self.last_batch)
        for batch in fresh:
            self.last_batch = batch.batch
            if query.unit.operators[0].name == self.name:
                self._count(batch)
                self._fresh = (*self._fresh, batch)
        return fresh

    def take(self, sample: BatchTasks) -> None:
        """The tasks of the last batch. One without rows tells nothing of who serves how many of them."""
        if self._sample is not None and not self._last_rows:
            return
        self._sample, self._sampled_rows = sample, self._last_rows
        self._worked_s = self._works.of(sample, self._runtime.timings(self.name) if self._is_alone else None)
        self._held_s = sample.held_s()

    def worked_s(self, executor: str) -> tuple[float, float]:
        """What Spark's executor of this name will have worked on the batch under way, and for how long that will have
        kept its slots, if only the rows are more or fewer than in the sampled one. An executor that had no part in that
        is taken to be like all together."""
        worked_s, held_s = sum(self._worked_s.values()), sum(self._held_s.values())
        if executor in self._held_s:
            worked_s, held_s = self._worked_s.get(executor, 0.0), self._held_s[executor]
        now_s = worked_s * self._times_the_sample(self._rows_under_way())
        return now_s, held_s - worked_s + now_s

    def book(self, numbers: Mapping[str, int], slots: Mapping[str, int], pool: str | None = None) -> None:
        """Split what was counted over executors and substreams; `numbers` and `slots` are those of Spark's
        executors, by its names for them. In another `pool` the numbers are others'."""
        if self._pool not in (None, pool):
            self._by_executor, self._executor_shares = Split(), {}
        self._pool = pool
        self._unbooked += sum(map(_rows_in, self._fresh))
        if self._sample is None:
            return
        shares = self._sample.by_executor()
        self._executor_shares = {numbers[e]: share for e, share in shares.items() if e in numbers}
        self._substream_shares = self._shares_of_substreams()
        self._by_executor.add(self._unbooked, self._executor_shares)
        self._by_substream.add(self._unbooked, dict(enumerate(self._substream_shares or ())))
        self._book_costs([work_s / max(1, slots.get(e, 1)) for e, work_s in self._worked_s.items()])
        self._unbooked = 0

    def _book_costs(self, useful_s: Sequence[float]) -> None:
        """`useful_s` is what each executor worked on the sampled batch, and the others by their rows. The rest of a
        batch is its fixed cost."""
        assert self._sample is not None
        if self._unbooked or self._fresh:
            self._worked_so_far_s += sum(useful_s) * self._times_the_sample(self._unbooked)
        longest_s = max(useful_s, default=0.0)
        for batch in self._fresh:
            self._tasks += self._sample.count
            self._fixed_s += max(0.0, batch.duration_s - longest_s * self._times_the_sample(_rows_in(batch)))

    def _times_the_sample(self, rows: int) -> float:
        return rows / self._sampled_rows if self._sampled_rows else 1.0

    def state(self, now_s: float, grouping: str) -> OperatorState:
        """`grouping` is the one that the plan has for it."""
        if not self.is_first:
            return OperatorState(self.name)
        known = self._waiting is not None
        return OperatorState(
            self.name,
            arrived=self._arrived if known else None,
            completed=self._completed,
            lost=0,
            queued=self._queued,
            busy_s=None if self._sample is None else self._worked_so_far_s,
            latency=self._latency,
            oldest_s=self._oldest_s(now_s),
            arrival_scv=self._arrivals.scv(),
            service_scv=self._service_scv,
            batch=Batch(self._batches, self._duration_s, *self._sampled_costs()),
            grouping=KEY if self._groupings == (KEY,) else grouping,
        )

    @property
    def groupings(self) -> tuple[str, ...]:
        """How its rows can be spread now."""
        return self._groupings if self._is_dealt_out else ()

    def portion(self, number: int) -> Portion | None:
        """What the executor of this number did of it; None before the first sample."""
        if self._sample is None or self._queued is None:
            return None
        return self._by_executor.portion(number, self._queued, self._executor_shares.get(number, 0.0))

    def substreams(self, owners: Sequence[int | None]) -> list[SubstreamState]:
        """All of them, with the executors that the pools gave them to."""
        return [
            SubstreamState(
                self.name,
                index,
                owners[index] if index < len(owners) else None,
                *self._substream(index),
                self._state_share,
            )
            for index in range(self._substream_count)
        ]

    def stream(self, name: str) -> tuple[int | None, int | None]:
        """Rows that came by one of its streams, and their bytes as far as the size of those seen is typical."""
        if not self.is_first or self._waiting is None:
            return None, None
        waiting = self._waiting.get(name, ())
        traffic = self._traffic.setdefault(name, Traffic())
        waiting_bytes = sum(arrival.bytes for arrival in waiting)
        traffic.grow(self._by_stream.get(name, 0) + _rows(waiting), waiting_bytes, _rows(waiting))
        return traffic.rows, traffic.known_bytes

    def problems(self) -> list[str]:
        """What is not known about it."""
        if not self.is_first:
            return [f"operator {self.name!r} is fused with the ones before it: its rows do not show"]
        if not self._reads_streams:
            return [f"operator {self.name!r} is fused with its source: rows read are taken for rows arrived"]
        told = [] if self._waiting is not None else [f"what waits for operator {self.name!r} is not known yet"]
        if self._state_bytes is not None:
            told.append(
                f"the state of operator {self.name!r} is told as a whole: its substreams have even shares of it"
            )
        return told

    @property
    def is_first(self) -> bool:
        """Whether it is the first operator of its query: what the query reads is what it reads."""
        return self._query() is not None

    @property
    def _is_alone(self) -> bool:
        unit_query = self._unit_query()
        return unit_query is not None and len(unit_query.unit.operators) == 1

    @property
    def _is_dealt_out(self) -> bool:
        """Whether its rows are spread for it: not where a source or a keyed operator in its query decides."""
        unit_query = self._unit_query()
        return unit_query is not None and bool(unit_query.readers) and not unit_query.unit.keyed

    @property
    def _reads_streams(self) -> bool:
        unit_query = self._unit_query()
        return unit_query is not None and bool(unit_query.readers)

    def _query(self) -> StreamingQuery | None:
        unit_query = self._unit_query()
        return None if unit_query is None else unit_query.query

    def _unit_query(self) -> UnitQuery | None:
        """The one that begins with it."""
        query = self._running_in()
        return query if query is not None and query.unit.operators[0].name == self.name else None

    def _running_in(self) -> UnitQuery | None:
        for query in self._runtime.queries.values():
            if any(operator.name == self.name for operator in query.unit.operators):
                return query
        return None

    @property
    def _queued(self) -> int | None:
        """Rows of a batch that was committed between two questions wait in no stream and are in no record yet."""
        return None if self._waiting is None else self._arrived - self._completed

    def _not_committed(self) -> dict[str, tuple[Arrival, ...]] | None:
        """What waits, by stream; None if that is not known of all streams.

        Spark tells a stream of a commit when the next batch begins. What was there when the last committed batch
        began is in that batch.
        """
        waiting = self._runtime.waiting(self.name)
        since_s = self._last_start_s or 0.0
        known = {
            stream: tuple(arrival for arrival in arrivals if arrival.published_s > since_s)
            for stream, arrivals in waiting.items()
            if arrivals is not None
        }
        return known if known.keys() == waiting.keys() else None

    def _rows_under_way(self) -> int:
        """A batch takes what waits when the one before it is over; if nothing does, what comes next."""
        waiting = [a for arrivals in (self._waiting or {}).values() for a in arrivals if a.rows]
        since_s = min((a.published_s for a in waiting), default=0.0)
        until_s = max(since_s, self._last_end_s or 0.0)
        return _rows([a for a in waiting if a.published_s <= until_s]) or self._sampled_rows

    def _book_arrivals(self, waiting: int) -> None:
        """What was committed after the last snapshot of an earlier run shows in what does not wait any more."""
        if self._resumed:
            unseen = max(0, self._arrived - waiting - self._completed)
            self._completed += unseen
            self._unbooked += unseen
            self._resumed = False
        self._arrived = max(self._arrived, self._completed + waiting)

    def _count(self, batch: BatchRecord) -> None:
        rows = self._last_rows = _rows_in(batch)
        if self._last_start_s is not None:
            self._arrivals.add(batch.started_s - self._last_start_s, rows)
        self._last_start_s, self._last_end_s = batch.started_s, batch.committed_s
        self._completed += rows
        self._batches += 1
        self._duration_s += batch.duration_s
        for stream, count in batch.rows.items():
            self._by_stream[stream] = self._by_stream.get(stream, 0) + count

    def _sampled_costs(self) -> tuple[float | None, int | None]:
        return (None, None) if self._sample is None else (self._fixed_s, round(self._tasks))

    def _shares_of_substreams(self) -> list[float] | None:
        if not self._substream_count or self._sample is None:
            return None
        return self._sample.by_substream(self._substream_count) or self._substream_shares

    def _substream(self, index: int) -> tuple[int | None, int | None, int | None]:
        if self._substream_shares is None or self._queued is None:
            return None, None, None
        return self._by_substream.portion(index, self._queued, self._substream_shares[index])

    @property
    def _state_share(self) -> int | None:
        """Spark tells the size of all state of a query: each substream gets an even share of it."""
        return None if self._state_bytes is None else self._state_bytes // self._substream_count

    def _state(self) -> int | None:
        query: Any = self._query()
        progress = None if query is None else query._jsq.lastProgress()
        record = None if progress is None else parse_progress(progress.json())
        return self._state_bytes if record is None else record.state_bytes

    def _oldest_s(self, now_s: float) -> float | None:
        """How long the oldest waiting row has waited at this operator; 0 if none waits."""
        if self._waiting is None:
            return None
        published = [a.published_s for arrivals in self._waiting.values() for a in arrivals if a.rows]
        return max(0.0, now_s - min(published)) if published else 0.0


def _rows_in(batch: BatchRecord) -> int:
    return sum(batch.rows.values())


def _rows(arrivals: Sequence[Arrival]) -> int:
    return sum(arrival.rows for arrival in arrivals)
