"""Query totals: what all streaming queries of an application have done so far, though queries come and go.

Queries that were not built for it do not say when their rows arrived. These take its place, and `problems` names
them:

- Rows that arrived are the rows read, and those behind them where the source reports its newest offset. A source
  without a limit per batch reads all there is, so its rows read are its arrivals, one batch late. With a limit they are
  not, and the wait of the rows beyond the limit is not seen.
- Latencies follow from batch durations. Rows arrive evenly between the starts of two batches, wait for the second start
  and then for that batch's commit: half the time between the starts plus the batch's duration, 1.5·D where batches of
  duration D follow each other. Rows behind a batch add their share of the batches to come.
- Queries may have different SLAs. A latency then counts as the share of its own SLA, so that one SLA, the strictest,
  holds when each holds.
- Between two reports rows are taken to arrive as they did before: since the start of the batch under way, if most of
  its reading tasks have finished and so tell its rows, or else of the last batch that was reported, at the rate of the
  batches before (see `arrival_line`). So a long batch does not look like a source that has dried up,
  and the backlog grows while a batch hangs. While a query waits for rows, no more arrive than came between two batches
  before: a source that hands over its rows once a second still has an even rate.

Of a query that reads only Kafka nothing but latencies is estimated: its broker tells at any time what has arrived.
While the broker does not answer, that is unknown. Of one that failed, `problems` says what waits until it runs again;
it is part of no sum, because executors cannot help it.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rheostat.duration import human
from rheostat.snapshot import Latency
from rheostat.spark.kafka.query_topics import TopicLoad
from rheostat.spark.observe.arrival_line import ArrivalLine
from rheostat.spark.observe.counters import merged
from rheostat.spark.observe.query_progress import QueryRun, StreamingQueries
from rheostat.spark.observe.running_batches import RunningBatch
from rheostat.spark.query.batch_log import BatchRecord

ESTIMATED = "latencies are estimated from batch durations: the rows carry no entry time"
UNDER_WAY = "what has arrived since the last batch began is estimated from the rate before"
NO_QUERY = "no streaming query is active"
ALL_QUERIES = "*"
"""Stands for all queries that are not named."""

_MOST_FAILURES = 8
_MOSTLY_READ = 0.5
"""Share of the reading tasks of a batch from which on they tell how many rows it has."""


@dataclass(slots=True)
class _RunTotals:
    """One run of one query since it was first seen. `behind` is None if its sources do not report it; `latency` is
    that since the last update; `under_way` are the rows that have arrived since the last batch began, if one is under
    way, and `waited_s` is how long the oldest of them has waited. `load` is what the broker of its topics says, if
    it reads Kafka."""

    run: QueryRun
    rows: int = 0
    arrived: int = 0
    behind: int | None = 0
    latency: Latency | None = None
    last: BatchRecord | None = None
    under_way: int = 0
    waited_s: float | None = None
    load: TopicLoad | None = None
    _line: ArrivalLine = field(default_factory=ArrivalLine)

    def __post_init__(self) -> None:
        """Batches from before tell at which rate rows arrive, so that it is known from the start."""
        for batch in self.run.earlier:
            self._follow(batch)

    def update(self, now_s: float, running: RunningBatch | None) -> list[BatchRecord]:
        """Add the new batches, and return them. `running` was under way a moment ago."""
        batches, latencies = self.run.new_batches(), []
        for batch in batches:
            self.rows += batch.row_count
            self.behind = batch.behind
            latencies.append(Latency(batch.row_count, estimated_latency_s(batch, self.last, self.run.trigger_s)))
            self._follow(batch)
        if running is not None:
            self._begin(running)
        since_last = self._estimate(now_s)
        self.arrived = max(self.arrived, self.rows + (self.behind or 0) + since_last)
        self.latency = merged(latencies)
        return batches

    def _begin(self, batch: RunningBatch) -> None:
        """Follow the batch under way, if its tasks tell its rows and these are all that had arrived."""
        is_next = self.last is not None and batch.number == self.last.batch + 1
        if is_next and batch.rows and batch.read >= _MOSTLY_READ and not self.behind:
            self._line.begin(batch.started_s, batch.rows)

    def _follow(self, batch: BatchRecord) -> None:
        self.last = batch
        self._line.add(batch)

    @property
    def queued(self) -> int:
        return (self.behind or 0) + self.under_way

    def rows_of(self, batch: RunningBatch) -> int | None:
        """Rows in the batch under way: as its topics say, or its tasks, or as many as have arrived since the last batch
        that was reported; None if they cannot be estimated."""
        if self.load is not None:
            return self.load.under_way or None
        if batch.rows is not None or self.last is None or self._line.rate is None:
            return batch.rows
        return self._line.since_last(batch.started_s) + (self.behind or 0)

    def _estimate(self, now_s: float) -> int:
        """Sets `under_way` and `waited_s`. Returns the rows that have arrived since the last batch began, whether they
        are under way or not."""
        self.under_way, self.waited_s = 0, None
        self.load = self.run.topic_load(now_s)
        if self.load is not None:
            self.behind = self.load.behind
            self.waited_s = self.load.oldest_s or None
            return 0
        if self.last is None or self._line.rate is None:
            return 0
        since_s = max(0.0, now_s - self.last.started_s)
        if self.run.is_processing():
            self.under_way = self._line.since_last(now_s)
            self.waited_s = since_s if self.under_way else None
            return self.under_way
        return self._line.since_last(self.last.started_s + min(since_s, self._line.longest_s))


def _topic_problems(totals: _RunTotals) -> list[str]:
    """What is wrong with the topics of a query, in words."""
    name, load, told = totals.run.name, totals.load, []
    if load is not None and load.problem is not None:
        told.append(f"what has arrived for query {name!r} is unknown: {load.problem}")
    if load is not None and load.lost:
        told.append(
            f"query {name!r} lost {load.lost:,} records: the broker deleted them before they were read. A longer "
            "retention would help"
        )
    if load is not None and load.limit is not None and (load.behind or 0) > 2 * load.limit:
        told.append(
            f"query {name!r} takes at most {load.limit:,} records in a batch (maxOffsetsPerTrigger) of the "
            f"{load.behind:,} that wait: what these wait for the next batches, executors can mend only as far as they "
            "make batches shorter. A higher limit would help"
        )
    return told


class FinishedBatch(NamedTuple):
    """A batch, and the run id of its query."""

    run_id: str
    record: BatchRecord


class QueryTotals:
    """Sums over `queries` that never fall. Batches from before a query was first seen do not count.

    `completed` rows were read; `arrived` has those behind them and those of the batch under way as well. `by_query` are
    the rows read by each query that runs or failed, by name. These continue from the values given. `earlier` are the
    batches from before a query was first seen, `finished` are those since the last update. `weights` are the factors
    for the latencies of queries by name; one that is not named, nor by "*", has no SLA.
    """

    def __init__(
        self,
        queries: StreamingQueries,
        *,
        completed: int = 0,
        arrived: int = 0,
        by_query: Mapping[str, int] | None = None,
        weights: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._queries, self._clock = queries, clock
        self._weights = {ALL_QUERIES: 1.0} if weights is None else weights
        self._running: dict[str, _RunTotals] = {}
        self._rows_of_ended_runs = completed
        self._left: dict[str, int] = {}
        self._down: dict[str, tuple[str, TopicLoad | None]] = {}
        self._failed: dict[str, str] = {}
        self._under_way: Mapping[str, RunningBatch] = {}
        self.completed, self.arrived = completed, arrived
        self.by_query = dict(by_query or {})
        self.earlier: list[BatchRecord] = []
        self.finished: list[FinishedBatch] = []

    def update(self, running: Mapping[str, RunningBatch] | None = None) -> None:
        """Add what has happened since the last update. `running` are the batches under way, by the run ids of their
        queries."""
        self._under_way = running or {}
        ended = self._queries.update()
        self.earlier, self.finished = [], []
        for run in ended:
            self._close(run)
        for run_id, run in self._queries.running.items():
            self._failed.pop(run.id, None)
            if run_id not in self._running:
                self._running[run_id] = _RunTotals(run)
                self._left.pop(run.id, None)
                self.earlier += run.earlier
            self._add(self._running[run_id])
        now_s = self._clock()
        self._down = {id_: (run.name, run.topic_load(now_s)) for id_, run in self._queries.down.items()}
        arrived = sum(totals.arrived for totals in self._running.values()) + sum(self._left.values())
        self.arrived = max(self.arrived, self._rows_of_ended_runs + arrived)
        names = {totals.run.name for totals in self._running.values()} | {name for name, _ in self._down.values()}
        self.by_query = {name: rows for name, rows in self.by_query.items() if name in names}

    @property
    def is_any_running(self) -> bool:
        return bool(self._running)

    @property
    def is_arrival_known(self) -> bool:
        """Whether it is known, or can be estimated, what has arrived: not while a broker does not answer."""
        loads = [totals.load for totals in self._running.values() if totals.load is not None]
        return self.is_any_running and all(load.behind is not None for load in loads)

    @property
    def runs(self) -> set[str]:
        """The run ids of the queries that run."""
        return set(self._running)

    @property
    def last_batches(self) -> dict[str, int]:
        """The number of the last batch of each query that runs, by run id."""
        return {run_id: each.last.batch for run_id, each in self._running.items() if each.last is not None}

    def rows_of(self, run_id: str, batch: RunningBatch) -> int | None:
        """Rows in the batch under way of a query; None if they cannot be estimated."""
        totals = self._running.get(run_id)
        return None if totals is None else totals.rows_of(batch)

    @property
    def queued(self) -> int:
        """Rows behind in the sources that report them, and those that arrive while a batch is under way."""
        return sum(totals.queued for totals in self._running.values())

    @property
    def oldest_s(self) -> float | None:
        """How long the oldest row of a batch under way has waited, weighted; None if none is."""
        waited = [(each.waited_s, self._weight(each)) for each in self._running.values()]
        return max((waited_s * weight for waited_s, weight in waited if waited_s is not None and weight), default=None)

    @property
    def trigger_s(self) -> float:
        """The longest interval of their triggers; 0 if all batches follow each other at once."""
        return max((totals.run.trigger_s for totals in self._running.values()), default=0.0)

    @property
    def topic_loads(self) -> dict[str, TopicLoad]:
        """The load of each query that reads Kafka, by name, also of those that failed."""
        loads = [*self._down.values(), *((each.run.name, each.load) for each in self._running.values())]
        return {name: load for name, load in loads if load is not None}

    def latency(self) -> Latency | None:
        """The highest of all queries since the last update, weighted: an SLA holds when it holds for each of them."""
        latencies = [
            Latency(latency.count, weight * latency.mean_s)
            for each in self._running.values()
            if (latency := each.latency) is not None and (weight := self._weight(each))
        ]
        return max(latencies, key=lambda latency: latency.mean_s, default=None)

    def _weight(self, totals: _RunTotals) -> float:
        """Of its latencies; 0 if it has no SLA."""
        return self._weights.get(totals.run.name, self._weights.get(ALL_QUERIES, 0.0))

    def problems(self) -> list[str]:
        """What is estimated or unknown, and which queries failed, until they run again."""
        named = {totals.run.name for totals in self._running.values()}
        unknown = [repr(name) for name in self._weights if name != ALL_QUERIES and name not in named]
        estimated = [totals for totals in self._running.values() if totals.load is None]
        silent = [repr(totals.run.name) for totals in estimated if totals.behind is None]
        told = [ESTIMATED if self._running else NO_QUERY]
        if unknown and named:
            running = ", ".join(repr(name) for name in sorted(named))
            told.append(f"no query named {', '.join(unknown)} runs, for which there is an SLA; there are: {running}")
        if silent:
            told.append(f"the sources of {', '.join(silent)} report no backlog: rows count as arrived when read")
        if any(totals.under_way for totals in self._running.values()):
            told.append(UNDER_WAY)
        told += [problem for totals in self._running.values() for problem in _topic_problems(totals)]
        return [*told, *(f"{why}{self._waiting_for(id_)}" for id_, why in self._failed.items())]

    def _waiting_for(self, query_id: str) -> str:
        """What waits in the topics of a query that failed, in words."""
        _, load = self._down.get(query_id, ("", None))
        if load is None or load.behind is None:
            return ""
        return f"; {load.behind:,} records wait in its topics, the oldest for {human(load.oldest_s or 0.0)}"

    def _add(self, totals: _RunTotals) -> None:
        batches = totals.update(self._clock(), self._under_way.get(totals.run.run_id))
        self.finished += [FinishedBatch(totals.run.run_id, batch) for batch in batches]
        rows = sum(batch.row_count for batch in batches)
        self.completed += rows
        self.by_query[totals.run.name] = self.by_query.get(totals.run.name, 0) + rows

    def _close(self, run: QueryRun) -> None:
        """Add the last batches of a run that has ended. What it left behind had arrived all the same; if the query runs
        again, it is behind in that run."""
        totals = self._running.pop(run.run_id, None)
        if totals is not None:
            self._add(totals)
            self._rows_of_ended_runs += totals.rows
            self._left[run.id] = totals.arrived - totals.rows
        if (reason := run.failure()) is not None:
            self._failed[run.id] = f"query {run.name!r} failed: {reason}"
            while len(self._failed) > _MOST_FAILURES:
                self._failed.pop(next(iter(self._failed)))


def estimated_latency_s(batch: BatchRecord, before: BatchRecord | None, trigger_s: float = 0.0) -> float:
    """The mean latency of the rows of `batch`, by the rule in the module's docstring.

    After a pause rows have waited no longer than the batch before took, or than the trigger's interval: a query looks
    for rows as soon as it has finished a batch, or at the next interval.
    """
    wait_s = batch.duration_s
    if before is not None:
        wait_s = min(batch.started_s - before.started_s, max(before.duration_s, trigger_s))
    rows = batch.row_count
    ahead_s = (batch.behind or 0) * batch.duration_s / rows if rows else 0.0
    return wait_s / 2 + batch.duration_s + ahead_s
