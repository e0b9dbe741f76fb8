"""Operators as functions on single records, as the bolts of the papers: one record in, any number out.

    @per_record("word string")
    def split(sentence):
        for word in sentence["text"].split():
            yield {"word": word}

A record is a dictionary of its columns; what is yielded may be a dictionary or a tuple in the order of the schema.
With several outputs the schemas are given by name and each record is yielded with the name of its output:
`yield "errors", {...}`.

The function is timed in the executors. All records count towards the operator's busy time; every n-th is a sample of
its own (DRS, section IV: N_m). If the cost of a record depends on a value that it carries, name the column (`cost`):
what each value costs is then learned, and groupings that balance by it can be used (`balanced`).
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import AccumulatorParam, SparkContext, TaskContext
from pyspark.accumulators import Accumulator
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rheostat.errors import ConfigError, TopologyError
from rheostat.spark.cost_sketch import VALUE, RecentCosts, value_of
from rheostat.spark.failure import reason_of
from rheostat.spark.latency import ENTRY
from rheostat.spark.streams.outputs import OUTPUT, schema_in_one_stream

Record = dict[str, Any]
Schema = StructType | str
Sample = tuple[int, Any, float]

DEFAULT_SAMPLE_EVERY = 100
_HIDDEN = (ENTRY, VALUE)
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
    """Makes a function on single records an operator's function. `schema` is that of what it yields, `cost` the column
    of what it reads that decides how long it takes.

    The function must be picklable by Spark, and may return None for nothing.
    """
    if isinstance(sample_every, bool) or not isinstance(sample_every, int) or sample_every < 1:
        raise ConfigError(f"sample_every is {sample_every!r}: give a whole number >= 1")

    def mark(function: Callable[[Record], Iterable[Any] | None]) -> RecordFunction:
        return RecordFunction(function, schema, sample_every, cost)

    return mark


class Work(NamedTuple):
    """Records, and the time they took."""

    records: int
    busy_s: float

    def plus(self, other: "Work") -> "Work":
        return Work(self.records + other.records, self.busy_s + other.busy_s)

    def minus(self, other: "Work") -> "Work":
        return Work(self.records - other.records, self.busy_s - other.busy_s)


@dataclass(slots=True)
class Timings:
    """What the executors measured, cumulative; `samples` are the last (task, value, seconds) of records timed alone.

    `sampled` counts all samples ever, so that whoever looks again knows how many are new. `tasks` has the work by
    the task's number in its batch, `costs` what values cost if that was learned.
    """

    records: int = 0
    busy_s: float = 0.0
    sampled: int = 0
    sampled_s: float = 0.0
    sampled_s2: float = 0.0
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=_SAMPLES_KEPT))
    tasks: dict[int, Work] = field(default_factory=dict)
    costs: RecentCosts | None = None

    def add(self, other: "Timings") -> "Timings":
        self.records += other.records
        self.busy_s += other.busy_s
        self.sampled += other.sampled
        self.sampled_s += other.sampled_s
        self.sampled_s2 += other.sampled_s2
        self.samples.extend(other.samples)
        # Somebody may be reading the old one.
        self.tasks = {**self.tasks, **{task: work.plus(self.work(task)) for task, work in other.tasks.items()}}
        self.learn(other.costs)
        return self

    def work(self, task: int) -> Work:
        return self.tasks.get(task, Work(0, 0.0))

    def learn(self, costs: RecentCosts | None) -> None:
        self.costs = costs if self.costs is None else self.costs.and_then(costs)

    def done(self, task: int, records: int, busy_s: float) -> None:
        self.records += records
        self.busy_s += busy_s
        self.tasks[task] = self.work(task).plus(Work(records, busy_s))

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
    fields = [*function.stream_schema(operator).fields, *(part for part in df.schema.fields if part.name == ENTRY)]
    return _with_values(df, operator, function.cost).mapInArrow(
        worker_for(operator, function, stopwatch).run, StructType(fields)
    )


def _with_values(df: DataFrame, operator: str, cost: str | None) -> DataFrame:
    """`df` with the values beside it by which costs are learned."""
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
            f"operator {operator!r}: the cost column {cost!r} has no hash: {reason_of(error)}"
        ) from None


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
        records = batch.drop_columns([name for name in _HIDDEN if name in batch.schema.names]).to_pylist()
        function = self.function.function
        made: list[Any] = []
        origins: list[int] = []
        marks_s = [time.perf_counter()]
        for index, record in enumerate(records):
            made.extend(function(record) or ())
            origins.extend([index] * (len(made) - len(origins)))
            marks_s.append(time.perf_counter())
        self._note(batch, records, np.diff(marks_s), timings)
        return made, origins

    def _note(
        self, batch: "pa.RecordBatch", records: list[Any], seconds: npt.NDArray[np.float64], timings: Timings
    ) -> None:
        """Write down how many seconds each of `records` took."""
        every, task = self.function.sample_every, _task()
        for index in range(-timings.records % every, len(records), every):
            timings.sample(task, records[index].get(self.function.cost), float(seconds[index]))
        if VALUE in batch.schema.names:
            timings.learn(RecentCosts.learned(batch.column(VALUE).to_numpy(), seconds))
        timings.done(task, len(records), float(seconds.sum()))

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
