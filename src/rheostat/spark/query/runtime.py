"""Runtime: a topology on Spark, every operator a Structured Streaming query, with durable streams between them.

    runtime = Runtime(topology, spark, RunDirectory("runs/words", topology))
    runtime.start()
    ...
    runtime.stop()

A batch of a query reads what its streams have, computes, publishes the output and commits. Spark does all four. The
runtime decides when a batch starts, how its rows are spread over tasks and when consumed files are deleted. Started
again in the same directory it continues from the checkpoints there.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import ConfigError, PlantError
from rheostat.snapshot import PartitionState
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.query.failure import QueryError, reason_of
from rheostat.spark.query.fusion.query_replacement import QueryReplacement
from rheostat.spark.query.grouping.row_groupings import RowGrouping
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.query.query_builder import QueryBuilder
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.running_queries import RunningQueries
from rheostat.spark.query.sinks import Sink, checked_sinks
from rheostat.spark.query.stalled import stalled_parts
from rheostat.spark.query.unit import units_of
from rheostat.spark.query.unit_query import UnitQuery
from rheostat.spark.state.query_groups import QueryGroups
from rheostat.spark.state.stage_placement import StagePlacement, Unplaced
from rheostat.spark.streams.file_streams import FileStreams
from rheostat.spark.streams.stream import Arrival, StreamKind
from rheostat.topology import Topology

_LOG = logging.getLogger(__name__)
_WATCH_EVERY_S = 0.2
_STOP_TIMEOUT_S = 60.0
_RESTARTS = 3
"""How often a query is started again before it has committed another batch."""


class Runtime:
    """The queries of one topology in one Spark application.

    `sinks` takes results by operator (or `operator.output`): a function of a DataFrame and a batch number, or a path;
    by default they go to a folder under `directory`, which also says which operators share a query. `placement` decides
    where the stages of an operator run. `groups` is kept up to date with the queries that are shared. Sources with a
    query of their own start a batch every `source_interval_s` at most.
    """

    def __init__(
        self,
        topology: Topology,
        spark: SparkSession,
        directory: RunDirectory,
        *,
        sinks: Mapping[str, Sink | Path | str] | None = None,
        streams: StreamKind | None = None,
        placement: StagePlacement | None = None,
        groups: QueryGroups | None = None,
        source_interval_s: float = 0.0,
    ) -> None:
        self.topology, self.directory = topology, directory
        self._spark = spark
        units = units_of(topology, directory.queries)
        by_result = checked_sinks(sinks or {}, units)
        kind = streams or FileStreams(self.directory.streams)
        self._builder = QueryBuilder(spark, self.directory, kind, by_result, placement or Unplaced(), source_interval_s)
        self.groups = groups or QueryGroups()
        self._running = RunningQueries(topology, units, self.groups)
        self._replacement = QueryReplacement(
            self._running, self._builder, self.directory, streams_in_files=streams is None
        )
        self._failure: QueryError | None = None
        self._restarts: Counter[tuple[str, int]] = Counter()
        self._watcher: threading.Thread | None = None

    def start(self) -> None:
        """Start all queries. An error in the user's functions is raised here, before anything runs."""
        if self.queries:
            raise PlantError(f"topology {self.topology.name!r} is running already")
        try:
            self._running.start(self._builder.build(self._running.units, self._running.units))
        except BaseException:
            self._running.stop()
            self.directory.release()
            raise
        self._watcher = threading.Thread(target=self._watch, name=f"rheostat {self.topology.name}", daemon=True)
        self._watcher.start()

    def stop(self, timeout_s: float = _STOP_TIMEOUT_S) -> None:
        """Let every query finish the batch under way, then end it. Raises the error if a query has failed."""
        self._running.stopping.set()
        if self._watcher is not None:
            self._watcher.join()
        self._finish(timeout_s)
        if self._failure is not None:
            raise self._failure

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the topology is stopped; False if `timeout_s` passes first. Raises the error if a query fails."""
        if self._watcher is not None:
            self._watcher.join(timeout_s)
        if self._watcher is not None and self._failure is not None:
            self._watcher.join()
            raise self._failure
        return self._running.stopping.is_set()

    def __enter__(self) -> "Runtime":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def failure(self) -> QueryError | None:
        """The error of the first query that failed; all others were then stopped."""
        return self._failure

    @property
    def queries(self) -> Mapping[str, UnitQuery]:
        """The running query of each unit by name; fused operators share one, `split+count`."""
        return self._running.by_name

    def batches(self, operator: str, after: int = -1) -> tuple[BatchRecord, ...]:
        """The committed batches of the query that runs `operator`, with numbers above `after`; the last 1,000."""
        return self._query_of(operator).batches.after(after)

    def waiting(self, operator: str) -> dict[str, tuple[Arrival, ...] | None]:
        """By stream, what was published for `operator` and is in no committed batch of it; None if not known yet."""
        query = self._query_of(operator)
        return {name: query.readers[name].waiting() for name in query.readers}

    def partitions(self, operator: str) -> dict[str, tuple[PartitionState, ...]]:
        """What waits for `operator` in topics, by stream."""
        return {name: reader.partitions() for name, reader in self._query_of(operator).readers.items()}

    def stream_problem(self, operator: str) -> str | None:
        """Why it is not known what waits for `operator`, besides that its query has not started."""
        readers = self._query_of(operator).readers.values()
        return next((reader.problem for reader in readers if reader.problem is not None), None)

    def stalled(self) -> dict[str, int | None]:
        """Operators and sources that have committed no rows since the start although rows wait for them, and how many.

        None stands for the rows of a source, which cannot be counted. Operators that share a query are all listed.
        """
        return stalled_parts(self.queries.values(), time.time())

    def timings(self, operator: str) -> Timings | None:
        """What the executors measured of a function on single records so far; None for other functions."""
        return self._builder.timings(operator)

    def results(self, stream: str) -> DataFrame:
        """The results so far of a stream without a sink of its own, with the batch number as a column."""
        return self._spark.read.parquet(str(self.directory.results(stream)))

    def regroup(self, operator: str, grouping: RowGrouping) -> None:
        """Spread the rows of a stateless operator over tasks in another way, from its next batch on."""
        unit = self._query_of(operator).unit
        if unit.keyed:
            raise ConfigError(
                f"operator {operator!r} is keyed: its {unit.substreams} substreams decide which task gets a row"
            )
        if not unit.inputs:
            raise ConfigError(
                f"operator {operator!r} is fused with its source, which alone decides how rows are spread"
            )
        self._builder.groupings[operator] = grouping

    def rearrange(self, fused: Iterable[Sequence[str]]) -> None:
        """Fuse these groups and split everything else, while the rest of the topology keeps running.

        Raises the reason if that is not possible; the queries then run as before.
        """
        self._replacement.rearrange(fused)

    def _query_of(self, operator: str) -> UnitQuery:
        return self._running.of(operator)

    def _watch(self) -> None:
        """Records committed batches, and ends all queries when one fails for good. Runs in a thread of its own."""
        while not self._running.stopping.wait(_WATCH_EVERY_S):
            for query in self.queries.values():
                query.batches.settle()
            failed = self._running.find_failed()
            if failed is not None:
                failure = failed.failure() or QueryError(failed.unit.name, "its query was stopped from outside")
                if not self._restarted(failed, failure):
                    self._failure = failure
                    _LOG.error("%s; stopping the topology", failure)
                    self._running.stopping.set()
                    self._finish(_STOP_TIMEOUT_S)

    def _restarted(self, failed: UnitQuery, failure: QueryError) -> bool:
        """Start a query again whose error may pass; from its checkpoint, as after any other end."""
        tries = (failed.unit.name, max((batch.batch for batch in failed.batches.after(-1)), default=-1))
        if not failure.may_pass or self._restarts[tries] >= _RESTARTS:
            return False
        self._restarts[tries] += 1
        _LOG.warning("%s; starting its query again", failure)
        try:
            self._replacement.restart(failed)
        except Exception as error:
            _LOG.error("operator %r could not be started again: %s", failed.unit.name, reason_of(error))
            return False
        return True

    def _finish(self, timeout_s: float) -> None:
        self._running.finish(timeout_s)
        self._builder.close()
        self.directory.release()
