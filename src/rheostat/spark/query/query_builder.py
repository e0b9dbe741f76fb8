"""Query builder: makes the queries of units, and opens the streams between them."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.spark.query.grouping.row_groupings import RowGrouping, WholeFiles
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.query.run_directory import RunDirectory, folder_name
from rheostat.spark.query.sinks import FolderSink, Sink
from rheostat.spark.query.stream_schemas import stream_schemas
from rheostat.spark.query.unit import Unit, topics_of
from rheostat.spark.query.unit_dataframe import DataFrameBuilder
from rheostat.spark.query.unit_query import UnitQuery
from rheostat.spark.state.stage_placement import StagePlacement
from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.jvm_objects import cloned_session
from rheostat.spark.streams.named_outputs import schema_in_one_stream
from rheostat.spark.streams.stream import DurableStream, StreamKind, StreamReader
from rheostat.spark.streams.topic_source import TopicSource
from rheostat.topology import Topology


class QueryBuilder:
    """Builds the queries of one topology. A stream is opened once, even if its writer or readers are replaced later.

    `groupings` has, by operator, how the rows that a stateless operator reads are spread over tasks. It is looked up
    for every batch. A source with a query of its own starts a batch every `source_interval_s` at most.
    """

    def __init__(
        self,
        spark: SparkSession,
        directory: RunDirectory,
        kind: StreamKind,
        sinks: Mapping[str, Sink],
        placement: StagePlacement,
        source_interval_s: float = 0.0,
    ) -> None:
        self._spark, self._directory, self._kind = spark, directory, kind
        self._sinks, self._placement, self._source_interval_s = sinks, placement, source_interval_s
        self._frames = DataFrameBuilder(placement)
        self._streams: dict[str, DurableStream] = {}
        self._topics: dict[str, TopicSource] = {}
        self.groupings: dict[str, RowGrouping] = {}

    def build(self, units: Sequence[Unit], among: Sequence[Unit]) -> dict[str, UnitQuery]:
        """New queries for `units`, ready to start, by unit name; `among` are all units of the topology."""
        schemas = stream_schemas(among, self._session())
        self._directory.record_schemas(schemas)
        sessions = {unit.name: self._session(unit) for unit in units}
        for unit in units:
            if unit.outputs and unit.stream not in self._streams:
                self._streams[unit.stream] = self._open_stream(unit, sessions[unit.name], among, schemas)
        return {unit.name: self._query(unit, sessions[unit.name], among) for unit in units}

    def close(self) -> None:
        """Ask the brokers of topics no more."""
        self._kind.close()
        for topic in self._topics.values():
            topic.close()

    def timings(self, operator: str) -> Timings | None:
        """What the executors measured of a function on single records; None for other functions."""
        stopwatch = self._frames.stopwatches.get(operator)
        return None if stopwatch is None else stopwatch.timings

    def _open_stream(
        self, unit: Unit, session: SparkSession, among: Sequence[Unit], schemas: Mapping[str, StructType]
    ) -> DurableStream:
        readers = [_reader_name(each, name) for each in among for name in each.inputs if name in unit.outputs]
        return self._kind.open(session, folder_name(unit.stream), _stream_schema(unit, schemas), readers)

    def _query(self, unit: Unit, session: SparkSession, among: Sequence[Unit]) -> UnitQuery:
        admission = BatchAdmission()
        readers = {name: self._reader(unit, name, session, among, admission) for name in unit.inputs}
        df = self._frames.query_frame(unit, session, {name: reader.df for name, reader in readers.items()})
        sinks = {name: self._sinks.get(name) or FolderSink(self._directory.results(name)) for name in unit.results}
        stream = self._streams[unit.stream] if unit.outputs else None
        interval_s = 0.0 if unit.operators else self._source_interval_s
        return UnitQuery(unit, df, readers, stream, sinks, admission, self._directory.checkpoint(unit.name), interval_s)

    def _reader(
        self, unit: Unit, stream: str, session: SparkSession, among: Sequence[Unit], admission: BatchAdmission
    ) -> StreamReader:
        first = _first_reader(unit, stream)
        usual = WholeFiles(max(1, session.sparkContext.defaultParallelism))

        def spread(df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
            # In a keyed unit the substreams decide, even if its first operator got another grouping on its own.
            grouping = usual if unit.keyed else self.groupings.get(first, usual)
            return grouping.spread(self._placement.place(first, df), file_bytes)

        name = _reader_name(unit, stream)
        if stream in topics_of(unit.topology):
            return self._topic(unit.topology, stream, session, among).reader(session, name, None, spread, admission)
        writer = next(each for each in among if stream in each.outputs)
        output = stream if writer.has_several_outputs else None
        return self._streams[writer.stream].reader(session, name, output, spread, admission)

    def _topic(self, topology: Topology, source: str, session: SparkSession, among: Sequence[Unit]) -> TopicSource:
        if source not in self._topics:
            readers = [_reader_name(unit, source) for unit in among if source in unit.inputs]
            folder = self._directory.stream(source)
            self._topics[source] = TopicSource(session, topics_of(topology)[source], folder, readers)
        return self._topics[source]

    def _session(self, unit: Unit | None = None) -> SparkSession:
        """A session of the unit's own: a query takes its settings from it at its start, and two may start at once."""
        session = cloned_session(self._spark)
        settings = dict(self._kind.session_settings)
        if unit is not None and unit.substreams is not None:
            settings["spark.sql.shuffle.partitions"] = str(unit.substreams)
        for key, value in settings.items():
            session.conf.set(key, value)
        return session


def _first_reader(unit: Unit, stream: str) -> str:
    return next(operator.name for operator in unit.operators if stream in operator.inputs)


def _reader_name(unit: Unit, stream: str) -> str:
    """Named by the operator, so that it stays the same when others are fused with it."""
    return f"{_first_reader(unit, stream)} of {stream}"


def _stream_schema(unit: Unit, schemas: Mapping[str, StructType]) -> StructType:
    outputs = {name: schemas[name] for name in (*unit.outputs, *unit.results)}
    return schema_in_one_stream(outputs) if unit.has_several_outputs else next(iter(outputs.values()))
