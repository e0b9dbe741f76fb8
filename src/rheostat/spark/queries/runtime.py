"""A topology on Spark: every operator a Structured Streaming query, durable streams between them.

    runtime = Runtime(topology, spark, "runs/words")
    runtime.start()
    ...
    runtime.stop()

What a query does with a batch is: take what its streams have, compute it, publish the output, commit. All four are
Spark's own, down to the file sink; the runtime decides when a batch begins, how its rows are spread over tasks and
when consumed files go. Started again in the same directory everything goes on where it was.

Batches are handed to the runtime by `foreachBatch`, which on two cores costs about 5 % of a small batch against
Spark's sink called directly. It is what makes updates (which the file sink refuses), sinks of the user's own and an
error that names the operator possible.
"""

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.errors import ConfigError, PlantError, TopologyError, nearest
from rheostat.spark.queries.assembly import Assembler, Placement, unplaced
from rheostat.spark.queries.batches import BatchRecord
from rheostat.spark.queries.directory import RunDirectory, folder_name
from rheostat.spark.queries.failure import QueryError
from rheostat.spark.queries.grouping import Grouping, WholeFiles
from rheostat.spark.queries.query import UnitQuery
from rheostat.spark.queries.results import Folder, Sink, as_sink
from rheostat.spark.queries.schema import schemas_of
from rheostat.spark.queries.timings import Timings
from rheostat.spark.queries.unit import Unit, units_of
from rheostat.spark.streams.files import FileStreams
from rheostat.spark.streams.gate import Gate
from rheostat.spark.streams.outputs import schema_in_one_stream
from rheostat.spark.streams.stream import Arrival, Stream, StreamKind, StreamReader
from rheostat.topology import Topology

_LOG = logging.getLogger(__name__)
_LOOK_EVERY_S = 0.2
_POLL_S = 0.02
_PATIENCE_S = 60.0


class Runtime:
    """The queries of one topology in one Spark application.

    `sinks` takes results by operator (or `operator.output`): a function of a DataFrame and a batch number, or a
    path; by default a folder under `directory`. Each group in `fused` becomes one query. `placement` says where the
    stages of an operator run.
    """

    def __init__(
        self,
        topology: Topology,
        spark: SparkSession,
        directory: Path | str,
        *,
        sinks: Mapping[str, Sink | Path | str] | None = None,
        fused: Iterable[Sequence[str]] = (),
        streams: StreamKind | None = None,
        placement: Placement = unplaced,
    ) -> None:
        self.topology = topology
        self._spark = spark
        self._placement = placement
        self._units = units_of(topology, fused)
        self._sinks = _checked_sinks(sinks or {}, self._units)
        self.directory = RunDirectory(directory, topology, [unit.parts for unit in self._units])
        self._kind = streams or FileStreams(self.directory.streams)
        self._assembler = Assembler(placement)
        self._groupings: dict[str, Grouping] = {}
        self._queries: dict[str, UnitQuery] = {}
        self._failure: QueryError | None = None
        self._stopping = threading.Event()
        self._caretaker: threading.Thread | None = None

    def start(self) -> None:
        """Start all queries. An error in the user's functions is raised here, before anything runs."""
        if self._queries:
            raise PlantError(f"topology {self.topology.name!r} is running already")
        try:
            self._queries = self._built()
            # Readers first: nothing waits for them then.
            for query in reversed(self._queries.values()):
                query.start(f"{self.topology.name}: {query.unit.name}")
        except BaseException:
            self._end_all()
            raise
        self._caretaker = threading.Thread(target=self._take_care, name=f"rheostat {self.topology.name}", daemon=True)
        self._caretaker.start()

    def stop(self, patience_s: float = _PATIENCE_S) -> None:
        """Let every query finish the batch under way, then end it. Raises the error if one had failed."""
        self._stopping.set()
        if self._caretaker is not None:
            self._caretaker.join()
        self._finish(patience_s)
        if self._failure is not None:
            raise self._failure

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until a query fails and all have ended, and raise its error; False when `timeout_s` passes first."""
        if self._caretaker is not None:
            self._caretaker.join(timeout_s)
        if self._caretaker is not None and self._failure is not None:
            self._caretaker.join()
            raise self._failure
        return self._stopping.is_set()

    def __enter__(self) -> "Runtime":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def failure(self) -> QueryError | None:
        """The first query's error, after which all were stopped."""
        return self._failure

    @property
    def queries(self) -> Mapping[str, UnitQuery]:
        """The running query of each unit by name; fused operators share one, `split+count`."""
        return self._queries

    def batches(self, operator: str, after: int = -1) -> tuple[BatchRecord, ...]:
        """The committed batches of the query that runs `operator`, with numbers above `after`; the last 1,000."""
        return self._query_of(operator).batches.after(after)

    def waiting(self, operator: str) -> dict[str, tuple[Arrival, ...] | None]:
        """By stream, what was published for `operator` and is in no committed batch of it; None if not known yet."""
        query = self._query_of(operator)
        return {name: query.readers[name].waiting() for name in query.readers}

    def timings(self, operator: str) -> Timings | None:
        """What a function on single records took in the executors so far; None for other functions."""
        stopwatch = self._assembler.stopwatches.get(operator)
        return None if stopwatch is None else stopwatch.timings

    def results(self, stream: str) -> DataFrame:
        """What came out so far where no sink was given, with the number of the batch as a column."""
        return self._spark.read.parquet(str(self.directory.results(stream)))

    def regroup(self, operator: str, grouping: Grouping) -> None:
        """Spread the rows of a stateless operator over tasks in another way, from its next batch on."""
        unit = self._query_of(operator).unit
        if unit.keyed:
            raise ConfigError(
                f"operator {operator!r} is keyed: its {unit.substreams} substreams decide which task gets a row"
            )
        if not unit.inputs:
            raise ConfigError(f"operator {operator!r} is fused with its source, which alone says how rows are spread")
        self._groupings[unit.name] = grouping

    def drain(self) -> None:
        """Wait until everything that the sources have now, and all that follows from it, is in committed batches."""
        for query in self._queries.values():
            if query.unit.source is not None and query.query is not None:
                query.query.processAllAvailable()
        quiet = 0
        # Around a loop records may slip past the first look, but not past a second one.
        while quiet < 2:
            if self.wait(_POLL_S):
                raise PlantError(f"topology {self.topology.name!r} was stopped before it was drained")
            quiet = 0 if any(_has_rows(query) for query in self._queries.values()) else quiet + 1

    def _query_of(self, operator: str) -> UnitQuery:
        for query in self._queries.values():
            if operator in query.unit.parts:
                return query
        if not self._queries:
            raise PlantError(f"topology {self.topology.name!r} is not started")
        names = [part.name for part in self.topology.parts]
        raise TopologyError(f"topology {self.topology.name!r} has no operator {operator!r}; {nearest(operator, names)}")

    def _built(self) -> dict[str, UnitQuery]:
        schemas = schemas_of(self._units, self._session(None))
        self.directory.keep_schemas(schemas)
        sessions = {unit.name: self._session(unit) for unit in self._units}
        streams = {
            unit.name: self._kind.open(
                sessions[unit.name], folder_name(unit.name), _stream_schema(unit, schemas), self._readers_of(unit)
            )
            for unit in self._units
            if unit.outputs
        }
        return {unit.name: self._query(unit, sessions[unit.name], streams) for unit in self._units}

    def _query(self, unit: Unit, session: SparkSession, streams: Mapping[str, Stream]) -> UnitQuery:
        gate = Gate()
        readers = {name: self._reader(unit, name, session, streams, gate) for name in unit.inputs}
        df = self._assembler.whole(unit, session, {name: reader.df for name, reader in readers.items()})
        sinks = {name: self._sinks.get(name) or Folder(self.directory.results(name)) for name in unit.results}
        return UnitQuery(unit, df, readers, streams.get(unit.name), sinks, gate, self.directory.checkpoint(unit.name))

    def _reader(
        self, unit: Unit, stream: str, session: SparkSession, streams: Mapping[str, Stream], gate: Gate
    ) -> StreamReader:
        writer = self._writer_of(stream)
        first = next(operator.name for operator in unit.operators if stream in operator.inputs)
        usual = WholeFiles(max(1, session.sparkContext.defaultParallelism))

        def arrange(df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
            return self._groupings.get(unit.name, usual).spread(self._placement(first, df), file_bytes)

        output = stream if _has_several(writer) else None
        return streams[writer.name].reader(session, _reader_name(unit, stream), output, arrange, gate)

    def _writer_of(self, stream: str) -> Unit:
        return next(unit for unit in self._units if stream in unit.outputs)

    def _readers_of(self, writer: Unit) -> list[str]:
        return [_reader_name(unit, name) for unit in self._units for name in unit.inputs if name in writer.outputs]

    def _session(self, unit: Unit | None) -> SparkSession:
        """A session of the unit's own: what a query starts with is read from it, and two may start at once."""
        spark: Any = self._spark
        session = SparkSession(self._spark.sparkContext, spark._jsparkSession.cloneSession())
        settings = dict(self._kind.session_settings)
        if unit is not None and unit.substreams is not None:
            settings["spark.sql.shuffle.partitions"] = str(unit.substreams)
        for key, value in settings.items():
            session.conf.set(key, value)
        return session

    def _take_care(self) -> None:
        """Runs beside the queries: notes what they commit, and ends all of them when one fails."""
        while not self._stopping.wait(_LOOK_EVERY_S):
            for query in self._queries.values():
                query.batches.settle()
                if not query.is_active and not self._stopping.is_set():
                    self._failure = query.failure() or QueryError(query.unit.name, "it was stopped by somebody else")
                    _LOG.error("%s; stopping the topology", self._failure)
                    self._finish(_PATIENCE_S)
                    return

    def _finish(self, patience_s: float) -> None:
        for query in self._queries.values():
            query.close()
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline and not all(query.is_quiet for query in self._queries.values()):
            time.sleep(_POLL_S)
        self._end_all()

    def _end_all(self) -> None:
        self._stopping.set()
        for query in self._queries.values():
            query.stop()
            query.batches.settle()
        self.directory.release()


def _has_rows(query: UnitQuery) -> bool:
    waiting = [reader.waiting() for reader in query.readers.values()]
    return any(arrivals is None or any(arrival.rows for arrival in arrivals) for arrivals in waiting)


def _has_several(unit: Unit) -> bool:
    return len(unit.outputs) + len(unit.results) > 1


def _reader_name(unit: Unit, stream: str) -> str:
    return f"{unit.name} of {stream}"


def _stream_schema(unit: Unit, schemas: Mapping[str, StructType]) -> StructType:
    made = {name: schemas[name] for name in (*unit.outputs, *unit.results)}
    return schema_in_one_stream(made) if _has_several(unit) else next(iter(made.values()))


def _checked_sinks(sinks: Mapping[str, Sink | Path | str], units: Sequence[Unit]) -> dict[str, Sink]:
    results = [name for unit in units for name in unit.results]
    for name in sinks:
        if name not in results:
            raise TopologyError(f"a sink is given for {name!r}, which is no result; {nearest(name, results)}")
    return {name: as_sink(sink) for name, sink in sinks.items()}
