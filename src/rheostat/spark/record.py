"""Operators as functions on single records, as the bolts of the papers: one record in, any number out.

    @per_record("word string")
    def split(sentence):
        for word in sentence["text"].split():
            yield {"word": word}

A record is a dictionary of its columns; what is yielded may be a dictionary or a tuple in the order of the schema.
With several outputs the schemas are given by name and each record is yielded with the name of its output:
`yield "errors", {...}`.

The function is timed in the executors. All records count towards the operator's busy time; every n-th is timed
alone (DRS, section IV: N_m), with the value of the `cost` column if one is named, for policies to which a record's
cost depends on its value.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
from pyspark import AccumulatorParam, SparkContext, TaskContext
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rheostat.errors import ConfigError, TopologyError
from rheostat.spark.latency import ENTRY
from rheostat.spark.streams.outputs import OUTPUT, schema_in_one_stream

Record = dict[str, Any]
Schema = StructType | str
Sample = tuple[int, Any, float]

DEFAULT_SAMPLE_EVERY = 100
_SAMPLES_KEPT = 1000
"""Of each task and of what the driver has not collected yet: memory stays bounded, whoever collects or does not."""


@dataclass(frozen=True, slots=True)
class RecordFunction:
    """A function on single records and what is known of it; call `per_record` to make one.

    Schemas stay as they were written until a session is there to read them.
    """

    function: Callable[[Record], Iterable[Any] | None]
    schema: Schema | Mapping[str, Schema]
    sample_every: int
    cost: str | None

    def __call__(self, record: Record) -> Iterable[Any] | None:
        return self.function(record)

    @property
    def outputs(self) -> Mapping[str, Schema] | None:
        """The schemas of several outputs by name; None if there is one without a name."""
        return self.schema if isinstance(self.schema, Mapping) else None

    def stream_schema(self, operator: str) -> StructType:
        """Of the stream that holds all it makes, where outputs are called as their streams are."""
        if not isinstance(self.schema, Mapping):
            return as_struct(self.schema)
        return schema_in_one_stream({f"{operator}.{name}": as_struct(part) for name, part in self.schema.items()})


def per_record(
    schema: Schema | Mapping[str, Schema], *, sample_every: int = DEFAULT_SAMPLE_EVERY, cost: str | None = None
) -> Callable[[Callable[[Record], Iterable[Any] | None]], RecordFunction]:
    """Makes a function on single records an operator's function. `schema` is that of what it yields.

    The function must be picklable by Spark, and may return None for nothing.
    """
    if isinstance(sample_every, bool) or not isinstance(sample_every, int) or sample_every < 1:
        raise ConfigError(f"sample_every is {sample_every!r}: give a whole number >= 1")

    def mark(function: Callable[[Record], Iterable[Any] | None]) -> RecordFunction:
        return RecordFunction(function, schema, sample_every, cost)

    return mark


@dataclass(slots=True)
class Timings:
    """What the executors measured, cumulative; `samples` are the last (task, value, seconds) of records timed alone.

    `sampled` counts all samples ever, so that whoever looks again knows how many are new.
    """

    records: int = 0
    busy_s: float = 0.0
    sampled: int = 0
    sampled_s: float = 0.0
    sampled_s2: float = 0.0
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=_SAMPLES_KEPT))

    def add(self, other: "Timings") -> "Timings":
        self.records += other.records
        self.busy_s += other.busy_s
        self.sampled += other.sampled
        self.sampled_s += other.sampled_s
        self.sampled_s2 += other.sampled_s2
        self.samples.extend(other.samples)
        return self

    def sample(self, task: int, value: Any, seconds: float) -> None:
        self.sampled += 1
        self.sampled_s += seconds
        self.sampled_s2 += seconds * seconds
        self.samples.append((task, value, seconds))


class Stopwatch:
    """Collects the timings of one operator from all executors. A repeated task counts again: it was work again."""

    def __init__(self, context: SparkContext) -> None:
        self._sum: Accumulator[Timings] = context.accumulator(Timings(), _TimingsSum())

    def add(self, timings: Timings) -> None:
        """Called in the executors."""
        self._sum.add(timings)

    @property
    def timings(self) -> Timings:
        """On the driver: everything that finished tasks have sent so far."""
        return self._sum.value


class _TimingsSum(AccumulatorParam[Timings]):
    def zero(self, value: Timings) -> Timings:
        return Timings()

    def addInPlace(self, value1: Timings, value2: Timings) -> Timings:  # noqa: N802
        return value1.add(value2)


def applied(df: DataFrame, operator: str, function: RecordFunction, stopwatch: Stopwatch) -> DataFrame:
    """`function` on every record of `df`; what it makes of a record has the record's entry time."""
    if function.cost is not None and function.cost not in df.columns:
        raise TopologyError(
            f"operator {operator!r}: the cost column {function.cost!r} is not in its input: {', '.join(df.columns)}"
        )
    fields = [*function.stream_schema(operator).fields, *(part for part in df.schema.fields if part.name == ENTRY)]
    return df.mapInArrow(worker_for(operator, function, stopwatch).run, StructType(fields))


class TimingsSink(Protocol):
    """Where a task leaves what it measured."""

    def add(self, timings: Timings) -> None: ...


def worker_for(operator: str, function: RecordFunction, stopwatch: TimingsSink) -> "_Worker":
    """What runs `function` on Arrow batches in the executors."""
    return _Worker(operator, function, to_arrow_schema(function.stream_schema(operator), timezone="UTC"), stopwatch)


@dataclass(frozen=True, slots=True)
class _Worker:
    """Runs in the executors' Python."""

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
                    yield self._batch(made, origins, batch)
        finally:
            self.stopwatch.add(timings)

    def _call(self, batch: "pa.RecordBatch", timings: Timings) -> tuple[list[Any], list[int]]:
        """What the function makes of a batch, and of which record each was made."""
        records = batch.drop_columns([ENTRY]).to_pylist() if ENTRY in batch.schema.names else batch.to_pylist()
        every, function = self.function.sample_every, self.function.function
        made: list[Any] = []
        origins: list[int] = []
        began = time.perf_counter()
        for index, record in enumerate(records):
            is_sample = (timings.records + index) % every == 0
            before = time.perf_counter() if is_sample else 0.0
            made.extend(function(record) or ())
            origins.extend([index] * (len(made) - len(origins)))
            if is_sample:
                timings.sample(_task(), record.get(self.function.cost), time.perf_counter() - before)
        timings.busy_s += time.perf_counter() - began
        timings.records += len(records)
        return made, origins

    def _batch(self, made: list[Any], origins: list[int], batch: "pa.RecordBatch") -> "pa.RecordBatch":
        rows = made if self.function.outputs is None else [self._marked(item) for item in made]
        columns = [self._column(position, part, rows) for position, part in enumerate(self.schema)]
        names = list(self.schema.names)
        if ENTRY in batch.schema.names:
            columns.append(batch.column(batch.schema.get_field_index(ENTRY)).take(pa.array(origins)))
            names.append(ENTRY)
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _marked(self, item: Any) -> Record:
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


def _task() -> int:
    context = TaskContext.get()
    return context.partitionId() if context else 0


def as_struct(schema: Schema) -> StructType:
    """A schema as Spark's type, whichever way it was written."""
    if isinstance(schema, StructType):
        return schema
    parsed = StructType.fromDDL(schema)
    assert isinstance(parsed, StructType)
    return parsed
