"""Application meter: all streaming queries of an application, measured as one operator.

Nothing about the queries is changed, so nobody can say which executor serves which query: all executors are one pool,
and all queries together are one operator. Each query is a stream into it; so is the one source, which stands for all.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rheostat.snapshot import Batch, BatchUnderWay, Latency, OperatorState, Snapshot, StreamState, SubstreamState
from rheostat.spark.observe.batch_work import BatchWork
from rheostat.spark.observe.cold_start import COLD_BATCHES, ColdStart
from rheostat.spark.observe.counters import last_state
from rheostat.spark.observe.query_progress import StreamingQueries
from rheostat.spark.observe.query_totals import QueryTotals
from rheostat.spark.observe.running_batches import RunningBatch
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.topology import Topology

ROWS_OF_EXECUTORS = "the rows of single executors are unknown: nothing shows which executor serves which query"


class ApplicationMeter:
    """The only operator of `topology`, which has one source. Counters continue from `base`.

    The first `cold_batches` count as rows, but are no evidence of what they cost. `weights` are the factors for the
    latencies of queries, by name; by default all count as they are.
    """

    is_measured = True
    groupings: tuple[str, ...] = ()

    def __init__(
        self,
        topology: Topology,
        queries: StreamingQueries,
        base: Snapshot | None = None,
        cold_batches: int = COLD_BATCHES,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        (self.name,), (self._source,) = topology.operators, topology.sources
        self.cold_start = ColdStart(cold_batches)
        before = last_state(self.name, base)
        streams = () if base is None else base.streams
        self._totals = QueryTotals(
            queries,
            completed=before.completed or 0,
            arrived=before.arrived or 0,
            by_query={stream.name: stream.rows or 0 for stream in streams if stream.name != self._source},
            weights=weights,
        )
        self._ended = _Costs(before.busy_s or 0.0, before.batch or Batch(0, 0.0, 0.0, 0, 0.0))
        self._works: dict[str, BatchWork] = {}
        self._running: Mapping[str, RunningBatch] = {}
        self._slots: Mapping[str, int] = {}
        self._is_work_known = True

    def look(self, running: Mapping[str, RunningBatch]) -> None:
        self._totals.update(running)
        last = self._totals.last_batches
        # One that was seen to run may have finished since.
        self._running = {id_: batch for id_, batch in running.items() if batch.number > last.get(id_, -1)}
        for earlier in self._totals.earlier:
            self.cold_start.add(earlier)
        for run_id, batch in self._totals.finished:
            self._work(run_id).add(batch)
        for run_id in self._works.keys() - self._totals.runs:
            self._ended = self._ended.plus(self._works.pop(run_id))

    @property
    def batches_to_sample(self) -> Mapping[str, int]:
        """The last batches of all queries."""
        return self._totals.last_batches

    def take_sample(self, run_id: str, tasks: BatchTasks) -> None:
        self._work(run_id).take_sample(tasks)

    def expected_work(self, executor: str) -> tuple[float, float]:
        """In the batches of all queries under way, if these are like the last ones."""
        expected = [work.sample.expected(executor, work.sample.rows) for work in self._works.values() if work.sample]
        return sum(worked_s for worked_s, _ in expected), sum(held_s for _, held_s in expected)

    def attribute_work(self, numbers: Mapping[str, int], slots: Mapping[str, int], busy_s: float | None) -> None:
        """Charge the batches of all queries, unless executors are cold (`busy_s` is None)."""
        self._slots, self._is_work_known = slots, busy_s is not None
        for work in self._works.values() if self._is_work_known else ():
            work.charge(slots)

    def rows_by_executor(self) -> Mapping[int, float]:
        """Unknown."""
        return {}

    def queued_by_executor(self) -> Mapping[int, int] | None:
        return None

    def state(self, now_s: float, grouping: str | None) -> OperatorState:
        totals, is_known = self._totals, self._totals.is_arrival_known
        costs = self._costs()
        return OperatorState(
            self.name,
            arrived=totals.arrived if is_known else None,
            completed=totals.completed if totals.is_any_running else None,
            queued=totals.queued if is_known else None,
            busy_s=costs.busy_s,
            latency=totals.latency(),
            oldest_s=totals.oldest_s if is_known else None,
            batch=costs.batch,
            under_way=self._under_way(now_s),
            trigger_s=totals.trigger_s,
            width=self._width(),
        )

    def substreams(self, owners: Sequence[int | None]) -> list[SubstreamState]:
        return []

    def streams(self) -> list[StreamState]:
        totals = self._totals
        arrived = totals.arrived if totals.is_arrival_known else None
        topics = {query: load.partitions for query, load in totals.topic_loads.items()}
        queries = [
            StreamState(query, self.name, rows=rows, partitions=topics.get(query, ()))
            for query, rows in totals.by_query.items()
        ]
        return [StreamState(self._source, self.name, rows=arrived), *queries]

    @property
    def latency_from_entry(self) -> Latency | None:
        return self._totals.latency()

    def problems(self) -> list[str]:
        cold = self.cold_start.problem(self.name, is_work_unknown=not self._is_work_known)
        return [*self._totals.problems(), ROWS_OF_EXECUTORS, *([] if cold is None else [cold])]

    def _work(self, run_id: str) -> BatchWork:
        if run_id not in self._works:
            self._works[run_id] = BatchWork(OperatorState(self.name), self.cold_start)
        return self._works[run_id]

    def _costs(self) -> "_Costs":
        """Of all queries. One that was not sampled yet, or has nothing to do, does not hide what the others cost."""
        works, costs = list(self._works.values()), self._ended
        for work in works:
            costs = costs.plus(work)
        has_evidence = any(work.busy_s is not None for work in works) or not any(work.batch.count for work in works)
        if self._is_work_known and has_evidence:
            return costs
        return _Costs(None, Batch(costs.batch.count, costs.batch.duration_s))

    def _width(self) -> int | None:
        """As many executors as the batches of all queries have tasks for at once; None if that is not always so."""
        widths = [work.width or 0 for work in self._works.values()]
        slots = max(self._slots.values(), default=1)
        return math.ceil(sum(widths) / max(1, slots)) if widths and all(widths) else None

    def _under_way(self, now_s: float) -> BatchUnderWay | None:
        """The batches of all queries, as one that began with the first of them."""
        batches = [
            self._work(run_id).under_way(batch, self._totals.rows_of(run_id, batch), self._slots, now_s)
            for run_id, batch in self._running.items()
        ]
        known = [batch for batch in batches if batch is not None]
        if not known or len(known) < len(batches):
            return None
        rows = [batch.rows for batch in known if batch.rows is not None]
        return BatchUnderWay(
            elapsed_s=max(batch.elapsed_s for batch in known),
            tasks=sum(batch.tasks for batch in known),
            finished=sum(batch.finished for batch in known),
            running=sum(batch.running for batch in known),
            worked_s=sum(batch.worked_s for batch in known),
            rows=sum(rows) if len(rows) == len(known) else None,
        )


class _Costs(NamedTuple):
    """Busy time and batches so far; None where it is not known."""

    busy_s: float | None
    batch: Batch

    def plus(self, work: BatchWork) -> "_Costs":
        """With those of one more query. What is not known of it, yet or any more, does not count."""
        one, other = self.batch, work.batch
        return _Costs(
            (self.busy_s or 0.0) + (work.busy_s or 0.0),
            Batch(
                one.count + other.count,
                one.duration_s + other.duration_s,
                (one.fixed_s or 0.0) + (other.fixed_s or 0.0),
                (one.tasks or 0) + (other.tasks or 0),
                (one.overhead_s or 0.0) + (other.overhead_s or 0.0),
            ),
        )
