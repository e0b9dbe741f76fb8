"""Unit DataFrame: the functions of a unit applied to its input streams, which is what its query computes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import TopologyError
from rheostat.spark.kafka.topic import KafkaTopic
from rheostat.spark.query.entry_time_column import with_carried_entry_times
from rheostat.spark.query.per_record.record_function import RecordFunction
from rheostat.spark.query.per_record.record_stage import record_stage
from rheostat.spark.query.per_record.timings import Stopwatch
from rheostat.spark.query.unit import Unit, topics_of
from rheostat.spark.query.user_functions import call, pickle_by_value
from rheostat.spark.state.stage_placement import StagePlacement
from rheostat.spark.streams.entry_times import ENTRY, carries, stamped, with_observed_entry_times
from rheostat.spark.streams.named_outputs import in_one_stream, of_output
from rheostat.topology import Operator, Source


class DataFrameBuilder:
    """Builds the DataFrames of units, and keeps a stopwatch for each operator on single records."""

    def __init__(self, placement: StagePlacement) -> None:
        self._place = placement.place
        self.stopwatches: dict[str, Stopwatch] = {}
        self._combined: dict[str, DataFrame] = {}

    def query_frame(self, unit: Unit, session: SparkSession, inputs: Mapping[str, DataFrame]) -> DataFrame:
        """All outputs of the unit in one DataFrame, since a query can write only one."""
        frames = self.output_frames(unit, session, inputs)
        if len(frames) == 1:
            return next(iter(frames.values()))
        return self._combined.get(unit.stream) or in_one_stream(frames)

    def output_frames(self, unit: Unit, session: SparkSession, inputs: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
        """What the unit makes of its `inputs`: the streams that others read, and the results.

        Results carry no entry times, so a unit that makes only results drops them at its inputs.
        """
        carry = bool(unit.outputs)
        topics = topics_of(unit.topology)
        frames = {name: df if carry else df.drop(ENTRY) for name, df in inputs.items()}
        frames |= {name: _decoded(name, topics[name], frames[name]) for name in frames.keys() & topics.keys()}
        if unit.source is not None:
            frames[unit.source.name] = self._source_frame(unit.source, session, fused=bool(unit.operators), carry=carry)
        for operator in unit.operators:
            frames.update(self._operator_frames(operator, [frames[name] for name in operator.inputs], carry))
        return {name: frames[name] for name in (*unit.outputs, *unit.results)}

    def _source_frame(self, source: Source, session: SparkSession, *, fused: bool, carry: bool) -> DataFrame:
        df = _opened(source, session)
        if fused:  # there is no stream from which the entry times could be read
            df = with_observed_entry_times(df)
        return self._place(source.name, df if carry else df.drop(ENTRY))

    def _operator_frames(self, operator: Operator, inputs: Sequence[DataFrame], carry: bool) -> dict[str, DataFrame]:
        if operator.function is None:
            raise TopologyError(f"operator {operator.name!r} has no function: on Spark it needs one")
        placed = [self._place(operator.name, df) for df in inputs]
        _check_key(operator, placed)
        if isinstance(operator.function, RecordFunction):
            frames = self._by_records(operator, operator.function, placed)
        else:
            frames = _by_dataframes(operator, operator.function, placed)
            frames = {name: with_carried_entry_times(df) if carry else df for name, df in frames.items()}
        return {name: self._place(operator.name, df) for name, df in frames.items()}

    def _by_records(
        self, operator: Operator, function: RecordFunction, inputs: Sequence[DataFrame]
    ) -> dict[str, DataFrame]:
        if len(inputs) != 1:
            raise TopologyError(
                f"operator {operator.name!r} is a function on single records and reads {len(inputs)} streams: "
                "it can read one; unite them before it"
            )
        _check_outputs(operator, function.outputs)
        pickle_by_value(function.function)
        df = inputs[0]
        if operator.key is not None:
            df = df.repartition(operator.substream_count, f"`{operator.key}`")
        stopwatch = self.stopwatches.setdefault(operator.name, Stopwatch(df.sparkSession.sparkContext))
        made = record_stage(df, operator.name, function, stopwatch)
        if function.outputs is None:
            return {operator.name: made}
        self._combined[operator.name] = self._place(operator.name, made)
        return {stream: of_output(made, stream) for stream in operator.selectivities}


def _opened(source: Source, session: SparkSession) -> DataFrame:
    if source.reader is None:
        raise TopologyError(f"source {source.name!r} has no reader: on Spark it needs one")
    df = call(f"source {source.name!r}", source.reader, [session])
    if not isinstance(df, DataFrame) or not df.isStreaming:
        raise TopologyError(f"source {source.name!r} must open a streaming DataFrame, not {df!r}: use spark.readStream")
    return stamped(df, source.name, source.reader)


def _decoded(source: str, topic: KafkaTopic, records: DataFrame) -> DataFrame:
    rows = call(f"source {source!r}", topic, [records.drop(ENTRY)])
    if not isinstance(rows, DataFrame) or not rows.isStreaming:
        raise TopologyError(f"source {source!r}: its decode must return the DataFrame of its rows, not {rows!r}")
    return with_carried_entry_times(rows)


def _by_dataframes(
    operator: Operator, function: Callable[..., Any], inputs: Sequence[DataFrame]
) -> dict[str, DataFrame]:
    visible = [df.drop(ENTRY) if carries(df) else df for df in inputs]
    made = call(f"operator {operator.name!r}", function, visible)
    _check_outputs(operator, made if isinstance(made, Mapping) else None)
    named = {f"{operator.name}.{name}": df for name, df in made.items()} if operator.outputs else {operator.name: made}
    for name, df in named.items():
        if not isinstance(df, DataFrame) or not df.isStreaming:
            raise TopologyError(
                f"operator {operator.name!r} must return a streaming DataFrame for {name!r}, not {df!r}"
            )
    return named


def _check_key(operator: Operator, inputs: Sequence[DataFrame]) -> None:
    if operator.key is None:
        return
    for stream, df in zip(operator.inputs, inputs, strict=True):
        if operator.key not in df.columns:
            columns = ", ".join(column for column in df.columns if column != ENTRY)
            raise TopologyError(
                f"operator {operator.name!r} is keyed by {operator.key!r}, which its input {stream!r} does not have: "
                f"{columns}"
            )


def _check_outputs(operator: Operator, made: Mapping[str, Any] | None) -> None:
    declared, found = sorted(operator.outputs), sorted(made or ())
    if declared != found:
        raise TopologyError(
            f"operator {operator.name!r} declares the outputs {declared or 'none'} and its function returns "
            f"{found or 'a single one'}: name the same ones in both"
        )
