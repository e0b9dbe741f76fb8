"""Batch feed: the new batches of the query that runs an operator, also when another query takes over.

Operators are fused and split while they run, and each time another query begins. Its batches have numbers of their own.
"""

from pyspark.sql.streaming.query import StreamingQuery

from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.unit_query import UnitQuery


class BatchFeed:
    """What `update` found: `batches` are all new ones, `own` those in which the operator came first.

    The first operator of a query reads what the query reads. `query` is the running query if the operator is its first,
    else None. `is_new` says that the running query is another one than at the update before.
    """

    def __init__(self, runtime: Runtime, operator: str) -> None:
        self._runtime, self._operator = runtime, operator
        self._unit_query: UnitQuery | None = None
        self._named: StreamingQuery | None = None
        self._run_id = ""
        self._last = -1
        self.query: StreamingQuery | None = None
        self.is_new = False
        self.batches: tuple[BatchRecord, ...] = ()
        self.own: tuple[BatchRecord, ...] = ()

    def update(self) -> None:
        """Find the batches committed since the last update, the last ones of the query before included."""
        running = self._running()
        self.batches = self.own = ()
        self.is_new = running is not self._unit_query
        if self.is_new:
            self._take(self._unit_query)
            self._unit_query, self._last = running, -1
        self._take(running)
        self.query = running.query if running is not None and self._is_first_in(running) else None

    @property
    def newest(self) -> tuple[str, int] | None:
        """Run id and number of the last committed batch of `query`; None if there is none."""
        if self.query is None or self._last < 0:
            return None
        if self.query is not self._named:
            self._named, self._run_id = self.query, str(self.query.runId)
        return self._run_id, self._last

    @property
    def is_running(self) -> bool:
        """Whether a query runs the operator, as its first or behind others."""
        return self._unit_query is not None and self._unit_query.query is not None

    @property
    def is_alone(self) -> bool:
        """Whether no other operator is in its query."""
        return self._unit_query is not None and len(self._unit_query.unit.operators) == 1

    @property
    def reads_streams(self) -> bool:
        """Whether it is the first in a query that reads streams; false if it is fused with its source."""
        return self.query is not None and self._unit_query is not None and bool(self._unit_query.readers)

    @property
    def can_regroup(self) -> bool:
        """Whether its rows can be spread in other ways: not if a source or a keyed operator in its query decides."""
        return self.reads_streams and self._unit_query is not None and not self._unit_query.unit.keyed

    def _running(self) -> UnitQuery | None:
        for query in self._runtime.queries.values():
            if any(operator.name == self._operator for operator in query.unit.operators):
                return query
        return None

    def _is_first_in(self, query: UnitQuery) -> bool:
        return query.unit.operators[0].name == self._operator

    def _take(self, query: UnitQuery | None) -> None:
        new = () if query is None else query.batches.after(self._last)
        if query is None or not new:
            return
        self._last = new[-1].batch
        self.batches += new
        self.own += new if self._is_first_in(query) else ()
