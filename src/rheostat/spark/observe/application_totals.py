"""What all streaming queries of an application have done so far: sums that never fall, though queries come and go.

A query that was not built for it does not tell when its rows arrived, so two things are taken instead, and the
ledger's `problems` say so:

- Rows that arrived are the rows read, and those that wait behind them where the source tells (Kafka does). A source
  without a limit per batch reads all there is, so its rows read are its arrivals, a batch late. With a limit they are
  not, and the wait of the rows beyond the limit is not seen.
- A row's latency is estimated. Rows come evenly between the starts of two batches, wait for the later start and then
  for that batch's commit: half the time between the starts plus the batch's duration, 1.5·D where batches of
  duration D follow each other; and what waits behind costs its share of the batches to come.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rheostat.snapshot import Batch, Latency
from rheostat.spark.observe.query_progress import QueryRun, StreamingQueries
from rheostat.spark.query.batch_log import BatchRecord

ESTIMATED = "latencies are estimated from batch durations: the queries' rows carry no entry time"
NO_QUERY = "no streaming query is active"

_MOST_FAILURES = 8


@dataclass(slots=True)
class _Account:
    """One run of one query, since it was first seen."""

    run: QueryRun
    rows: int = 0
    behind: int | None = 0
    last: BatchRecord | None = None
    fresh: list[tuple[int, float]] = field(default_factory=list)

    def book(self, batches: Iterable[BatchRecord]) -> None:
        """Remember the rows and latencies of these batches, until the next booking."""
        self.fresh = []
        for batch in batches:
            self.rows += batch.row_count
            self.behind = batch.behind
            self.fresh.append((batch.row_count, estimated_latency_s(batch, self.last, self.run.trigger_s)))
            self.last = batch

    def latency(self) -> Latency | None:
        rows = sum(count for count, _ in self.fresh)
        return Latency(rows, sum(count * each for count, each in self.fresh) / rows) if rows else None


class Ledger:
    """Sums over `queries`. Batches that finished before the ledger was opened are not in it."""

    def __init__(self, queries: StreamingQueries) -> None:
        self._queries = queries
        self._accounts: dict[str, _Account] = {}
        self._rows = self._batches = 0
        self._duration_s = self._fixed_s = 0.0
        self._failed: dict[str, str] = {}

    def update(self) -> None:
        """Book what has happened since the last update."""
        ended = self._queries.update()
        for run_id, run in self._queries.running.items():
            self._failed.pop(run.id, None)
            self._book(self._accounts.setdefault(run_id, _Account(run)))
        for run in ended:
            self._close(run)

    @property
    def running(self) -> int:
        return len(self._accounts)

    @property
    def rows(self) -> int:
        """Rows that all queries read."""
        return self._rows

    @property
    def behind(self) -> int:
        """Rows that wait in the sources that tell."""
        return sum(account.behind or 0 for account in self._accounts.values())

    @property
    def batch(self) -> Batch:
        return Batch(self._batches, self._duration_s, self._fixed_s)

    def latency(self) -> Latency | None:
        """That of the query with the highest, since the last update: an SLA holds when it holds for each of them."""
        latencies = [each for account in self._accounts.values() if (each := account.latency()) is not None]
        return max(latencies, key=lambda latency: latency.mean_s, default=None)

    def by_query(self) -> dict[str, int]:
        """Rows read by each query that runs now."""
        return {account.run.name: account.rows for account in self._accounts.values()}

    def problems(self) -> tuple[str, ...]:
        silent = [repr(a.run.name) for a in self._accounts.values() if a.behind is None]
        told = [NO_QUERY] if not self._accounts else [ESTIMATED]
        if silent:
            told.append(f"the sources of {', '.join(silent)} tell no backlog: rows read are taken for rows arrived")
        return (*told, *(f"query {name}" for name in self._failed.values()))

    def _book(self, account: _Account) -> None:
        batches = account.run.new_batches()
        account.book(batches)
        self._rows += sum(batch.row_count for batch in batches)
        self._batches += len(batches)
        self._duration_s += sum(batch.duration_s for batch in batches)
        self._fixed_s += sum(batch.fixed_s for batch in batches)

    def _close(self, run: QueryRun) -> None:
        """What it did stays in the sums; how it failed is told until the query is started again."""
        account = self._accounts.pop(run.run_id, None)
        if account is not None:
            self._book(account)
        if (why := run.failure()) is not None:
            self._failed[run.id] = f"{run.name!r} failed: {why}"
            while len(self._failed) > _MOST_FAILURES:
                self._failed.pop(next(iter(self._failed)))


def estimated_latency_s(batch: BatchRecord, before: BatchRecord | None, trigger_s: float = 0.0) -> float:
    """The mean latency of the rows of `batch`, by the rule in the module's docstring.

    After a pause rows have waited no longer than the batch before took, or than the trigger's interval: a query
    looks for rows as soon as it is done, or at the next interval.
    """
    wait_s = batch.duration_s
    if before is not None:
        wait_s = min(batch.started_s - before.started_s, max(before.duration_s, trigger_s))
    ahead_s = (batch.behind or 0) * batch.duration_s / batch.row_count if batch.row_count else 0.0
    return wait_s / 2 + batch.duration_s + ahead_s
