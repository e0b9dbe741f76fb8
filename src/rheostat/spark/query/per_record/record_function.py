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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

from rheostat.errors import ConfigError
from rheostat.spark.streams.named_outputs import schema_in_one_stream

Record = dict[str, Any]
Schema = StructType | str

DEFAULT_SAMPLE_EVERY = 100


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


def as_struct(schema: Schema) -> StructType:
    """A schema as Spark's type, whichever way it was written."""
    if isinstance(schema, StructType):
        return schema
    parsed = StructType.fromDDL(schema)
    assert isinstance(parsed, StructType)
    return parsed
