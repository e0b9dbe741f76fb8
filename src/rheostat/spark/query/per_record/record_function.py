"""Record function: an operator as a function on single records, one in and any number out.

    @per_record("word string")
    def split(sentence):
        for word in sentence["text"].split():
            yield {"word": word}

A record is a dictionary of its columns. The function yields dictionaries, or tuples in the order of the schema. With
several outputs the schemas are given by name, and each record is yielded with the name of its output:
`yield "errors", {...}`.

The function is timed in the executors. All records count towards the operator's busy time; every n-th is timed as a
sample of its own (DRS, section IV: N_m). If the cost of a record depends on one of its values, name the column with
`cost`. The cost of each value is then learned, and groupings that balance by cost can be used (`balanced`).
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
    """A function on single records with its schema; made by `per_record`.

    Schemas stay as they were written until there is a session to parse them.
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
        """The schema of the stream with all its records; several outputs have the names of their streams there."""
        if not isinstance(self.schema, Mapping):
            return as_struct(self.schema)
        return schema_in_one_stream({f"{operator}.{name}": as_struct(part) for name, part in self.schema.items()})


def per_record(
    schema: Schema | Mapping[str, Schema], *, sample_every: int = DEFAULT_SAMPLE_EVERY, cost: str | None = None
) -> Callable[[Callable[[Record], Iterable[Any] | None]], RecordFunction]:
    """Make an operator's function of a function on single records. `schema` is that of the records that it yields,
    `cost` the input column that decides how long a record takes.

    Spark must be able to pickle the function. It may return None instead of no records.
    """
    if isinstance(sample_every, bool) or not isinstance(sample_every, int) or sample_every < 1:
        raise ConfigError(f"sample_every is {sample_every!r}: give a whole number >= 1")

    def mark(function: Callable[[Record], Iterable[Any] | None]) -> RecordFunction:
        return RecordFunction(function, schema, sample_every, cost)

    return mark


def as_struct(schema: Schema) -> StructType:
    """A schema as Spark's type, from a type or from DDL text."""
    if isinstance(schema, StructType):
        return schema
    parsed = StructType.fromDDL(schema)
    assert isinstance(parsed, StructType)
    return parsed
