"""Application meter: all streaming queries of an application, measured as one operator.

Nothing about the queries is changed, so nobody can say which executor serves which query: all executors are one pool,
and all queries together are one operator. Each query is a stream into it; so is the one source, which stands for all.
"""

from collections.abc import Mapping, Sequence

from rheostat.snapshot import Batch, Latency, OperatorState, Snapshot, StreamState, SubstreamState
from rheostat.spark.observe.cold_start import COLD_BATCHES, ColdStart
from rheostat.spark.observe.counters import last_state
from rheostat.spark.observe.query_progress import StreamingQueries
from rheostat.spark.observe.query_totals import QueryTotals
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.topology import Topology

ROWS_OF_EXECUTORS = "the rows of single executors are unknown: nothing shows which executor serves which query"


class ApplicationMeter:
    """The only operator of `topology`, which has one source. Counters continue from `base`.

    What tasks do cannot be told from what they cost without rows: all the time that they hold executors is busy time.
    The first `cold_batches` count as rows, but are no evidence of what they cost.
    """

    is_measured = True
    groupings: tuple[str, ...] = ()
    batch_to_sample: tuple[str, int] | None = None

    def __init__(
        self,
        topology: Topology,
        queries: StreamingQueries,
        base: Snapshot | None = None,
        cold_batches: int = COLD_BATCHES,
    ) -> None:
        (self.name,), (self._source,) = topology.operators, topology.sources
        self.cold_start = ColdStart(cold_batches)
        before = last_state(self.name, base)
        streams = () if base is None else base.streams
        self._busy_s = before.busy_s or 0.0
        self._is_busy_known = True
        self._totals = QueryTotals(
            queries,
            completed=before.completed or 0,
            arrived=before.arrived or 0,
            batch=before.batch,
            by_query={stream.name: stream.rows or 0 for stream in streams if stream.name != self._source},
        )

    def look(self) -> None:
        self._totals.update()
        for batch in self._totals.finished:
            self.cold_start.add(batch)

    def take_sample(self, tasks: BatchTasks) -> None:
        """Nothing is sampled."""

    def expected_work(self, executor: str) -> tuple[float, float]:
        """Unknown."""
        return 0.0, 0.0

    def attribute_work(self, numbers: Mapping[str, int], slots: Mapping[str, int], busy_s: float | None) -> None:
        """The busy time of all executors, those that have left since included, is the application's."""
        self._is_busy_known = busy_s is not None
        self._busy_s += busy_s or 0.0

    def rows_by_executor(self) -> Mapping[int, float]:
        """Unknown."""
        return {}

    def queued_by_executor(self) -> Mapping[int, int] | None:
        return None

    def state(self, now_s: float, grouping: str | None) -> OperatorState:
        totals, is_known = self._totals, self._totals.is_any_running
        return OperatorState(
            self.name,
            arrived=totals.arrived if is_known else None,
            completed=totals.completed if is_known else None,
            queued=totals.queued if is_known else None,
            busy_s=self._busy_s if self._is_busy_known else None,
            latency=totals.latency(),
            oldest_s=totals.oldest_s if is_known else None,
            batch=totals.batch if self._is_busy_known else Batch(totals.batch.count, totals.batch.duration_s),
        )

    def substreams(self, owners: Sequence[int | None]) -> list[SubstreamState]:
        return []

    def streams(self) -> list[StreamState]:
        totals = self._totals
        arrived = totals.arrived if totals.is_any_running else None
        queries = [StreamState(query, self.name, rows=rows) for query, rows in totals.by_query.items()]
        return [StreamState(self._source, self.name, rows=arrived), *queries]

    @property
    def latency_from_entry(self) -> Latency | None:
        return self._totals.latency()

    def problems(self) -> list[str]:
        cold = self.cold_start.problem(self.name, is_work_unknown=not self._is_busy_known)
        return [*self._totals.problems(), ROWS_OF_EXECUTORS, *([] if cold is None else [cold])]
