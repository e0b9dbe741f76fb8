"""Record stage: a function on single records as a stage of a DataFrame, timed in the executors."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rheostat.errors import TopologyError
from rheostat.spark.query.failure import reason_of
from rheostat.spark.query.grouping.recent_costs import VALUE, RecentCosts, value_of
from rheostat.spark.query.per_record.record_function import Record, RecordFunction
from rheostat.spark.query.per_record.timings import Stopwatch, Timings, TimingsSink
from rheostat.spark.streams.entry_times import ENTRY
from rheostat.spark.streams.named_outputs import OUTPUT

_HIDDEN = (ENTRY, VALUE)
_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
"""Timestamps are in UTC. Spark 4.1 assumes it; later versions take it as an argument."""


def record_stage(df: DataFrame, operator: str, function: RecordFunction, stopwatch: Stopwatch) -> DataFrame:
    """Apply `function` to every record of `df`. The records that it makes inherit the entry time of their origin."""
    fields = [*function.stream_schema(operator).fields, *(part for part in df.schema.fields if part.name == ENTRY)]
    worker = record_worker(operator, function, stopwatch)
    return _with_cost_values(df, operator, function.cost).mapInArrow(worker.run, StructType(fields))


def _with_cost_values(df: DataFrame, operator: str, cost: str | None) -> DataFrame:
    """`df` with the hidden column of values by which costs are learned."""
    if cost is None:
        return df
    if cost not in df.columns:
        raise TopologyError(
            f"operator {operator!r}: the cost column {cost!r} is not in its input: {', '.join(df.columns)}"
        )
    try:
        return df.withColumn(VALUE, value_of(cost))
    except AnalysisException as error:
        raise TopologyError(
            f"operator {operator!r}: the cost column {cost!r} cannot be hashed: {reason_of(error)}"
        ) from None


def record_worker(operator: str, function: RecordFunction, stopwatch: TimingsSink) -> "RecordWorker":
    schema = to_arrow_schema(function.stream_schema(operator), **_UTC)
    return RecordWorker(operator, function, schema, stopwatch)


@dataclass(frozen=True, slots=True)
class RecordWorker:
    """Runs a function on Arrow batches in the executors' Python."""

    operator: str
    function: RecordFunction
    schema: "pa.Schema"
    stopwatch: TimingsSink

    def run(self, batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        timings = Timings()
        try:
            for batch in batches:
                made, origins = self._call(batch, timings)
                if made:
                    yield self._output_batch(made, origins, batch)
        finally:
            self.stopwatch.add(timings)

    def _call(self, batch: "pa.RecordBatch", timings: Timings) -> tuple[list[Any], list[int]]:
        """What the function makes of a batch, and the index of the input record that each was made of."""
        records = batch.drop_columns([name for name in _HIDDEN if name in batch.schema.names]).to_pylist()
        function = self.function.function
        made: list[Any] = []
        origins: list[int] = []
        marks_s = [time.perf_counter()]
        for index, record in enumerate(records):
            made.extend(function(record) or ())
            origins.extend([index] * (len(made) - len(origins)))
            marks_s.append(time.perf_counter())
        self._add_times(batch, records, np.diff(marks_s), timings)
        return made, origins

    def _add_times(
        self, batch: "pa.RecordBatch", records: list[Any], seconds: npt.NDArray[np.float64], timings: Timings
    ) -> None:
        """Add to `timings` how many seconds each of `records` took."""
        every, task = self.function.sample_every, _task_number()
        for index in range(-timings.records % every, len(records), every):
            timings.sample(task, records[index].get(self.function.cost), float(seconds[index]))
        if VALUE in batch.schema.names:
            timings.learn(RecentCosts.learned(batch.column(VALUE).to_numpy(), seconds))
        timings.done(task, len(records), float(seconds.sum()))

    def _output_batch(self, made: list[Any], origins: list[int], batch: "pa.RecordBatch") -> "pa.RecordBatch":
        rows = made if self.function.outputs is None else [self._with_output_name(item) for item in made]
        columns = [self._column(position, part, rows) for position, part in enumerate(self.schema)]
        names = list(self.schema.names)
        if ENTRY in batch.schema.names:
            columns.append(batch.column(batch.schema.get_field_index(ENTRY)).take(pa.array(origins)))
            names.append(ENTRY)
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _with_output_name(self, item: Any) -> Record:
        try:
            output, record = item
            stream = f"{self.operator}.{output}"
            part = self.schema.field(stream).type
        except (KeyError, TypeError, ValueError):
            raise ValueError(
                f"operator {self.operator!r} must yield (output, record) with an output of "
                f"{list(self.function.outputs or ())}, not {item!r}"
            ) from None
        return {OUTPUT: stream, stream: _as_dict(record, [part.field(i).name for i in range(part.num_fields)])}

    def _column(self, position: int, part: "pa.Field", rows: list[Any]) -> "pa.Array":
        try:
            if self.function.outputs is not None:
                return pa.array([row.get(part.name) for row in rows], part.type)
            return pa.array([row[part.name if isinstance(row, dict) else position] for row in rows], part.type)
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"operator {self.operator!r} yielded a record without column {part.name!r}") from None
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(f"operator {self.operator!r}: column {part.name!r} is no {part.type}: {error}") from None


def _as_dict(record: Any, names: list[str]) -> Record:
    return record if isinstance(record, dict) else dict(zip(names, record, strict=True))


def _task_number() -> int:
    context = TaskContext.get()
    return context.partitionId() if context else 0
