"""What the streams look like, found by asking the operators' functions. On a loop the answer depends on itself.

There the search starts with what the function says of itself (a function on single records always does, another by
`emits`), or else with the guess that what comes around looks like what comes in, and goes on until it fits.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructField, StructType

from rheostat.errors import TopologyError
from rheostat.spark.query.assembly import Assembler
from rheostat.spark.query.per_record.record_function import RecordFunction, Schema, as_struct
from rheostat.spark.query.unit import Unit
from rheostat.spark.streams.entry_times import ENTRY, ENTRY_TYPE
from rheostat.spark.streams.source import open_source

_EMITS = "rheostat_emits"

Function = TypeVar("Function", bound=Callable[..., Any])


def emits(schema: Schema | Mapping[str, Schema]) -> Callable[[Function], Function]:
    """Marks a function on DataFrames that is on a loop: the schema of what it returns, by output if it has several."""

    def mark(function: Function) -> Function:
        setattr(function, _EMITS, schema)
        return function

    return mark


def schemas_of(units: Sequence[Unit], session: SparkSession) -> dict[str, StructType]:
    """The schema of each stream that units write or that leaves the topology, hidden columns included."""
    found: dict[str, StructType] = {}
    for _ in range(2 * len(units) + 1):
        before = dict(found)
        for unit in units:
            if all(name in found for name in unit.inputs):
                found.update(_made(unit, session, found))
        missing = [name for unit in units for name in unit.inputs if name not in found]
        if missing and found == before:
            found[missing[0]] = _first_guess(units, found, missing[0])
        elif found == before:
            return found
    unsettled = sorted(name for name in found if found[name] != before.get(name))
    raise TopologyError(
        f"what the streams on a loop look like does not settle ({', '.join(unsettled)}): "
        "mark the functions on the loop with emits(...)"
    )


def _made(unit: Unit, session: SparkSession, known: Mapping[str, StructType]) -> dict[str, StructType]:
    inputs = {name: open_source(session, _Placeholder(known[name]), name) for name in unit.inputs}
    made = Assembler().outputs(unit, session, inputs)
    return {name: _storable(name, df.schema) for name, df in made.items()}


def _first_guess(units: Sequence[Unit], found: Mapping[str, StructType], stream: str) -> StructType:
    topology = units[0].topology
    operator, _, output = stream.partition(".")
    declared = _declared(topology.operators[operator].function, output)
    readers = [unit for unit in units if stream in unit.inputs]
    like = [found[name] for unit in readers for name in unit.inputs if name in found]
    guess = declared or next(iter(like), None)
    if guess is None:
        raise TopologyError(f"stream {stream!r} is on a loop: mark the function of {operator!r} with emits(...)")
    columns = [field for field in guess.fields if field.name != ENTRY]
    return _storable(stream, StructType([*columns, StructField(ENTRY, ENTRY_TYPE)]))


def _declared(function: Callable[..., Any] | None, output: str) -> StructType | None:
    schema = function.schema if isinstance(function, RecordFunction) else getattr(function, _EMITS, None)
    if isinstance(schema, Mapping):
        schema = schema.get(output)
    return None if schema is None else as_struct(schema)


def _storable(stream: str, schema: StructType) -> StructType:
    """As it comes back from files: everything can be null there."""
    operator = stream.partition(".")[0]
    for position, field in enumerate(schema.fields):
        if field.name in schema.names[:position]:
            raise TopologyError(f"operator {operator!r} makes two columns called {field.name!r} in {stream!r}")
        if isinstance(field.dataType, NullType):
            raise TopologyError(f"operator {operator!r}: column {field.name!r} has no type: cast it to one")
    nullable = _nullable(schema)
    assert isinstance(nullable, StructType)
    return nullable


def _nullable(kind: DataType) -> DataType:
    match kind:
        case StructType():
            return StructType([StructField(f.name, _nullable(f.dataType), True, f.metadata) for f in kind.fields])
        case ArrayType():
            return ArrayType(_nullable(kind.elementType), True)
        case MapType():
            return MapType(_nullable(kind.keyType), _nullable(kind.valueType), True)
        case _:
            return kind


class _Placeholder:
    """A stream of a certain look that is never read."""

    def __init__(self, schema: StructType) -> None:
        self.schema = schema

    def newest(self, committed: int) -> int:
        raise NotImplementedError

    def batch(self, after: int, until: int) -> DataFrame:
        raise NotImplementedError

    def done(self, until: int) -> None:
        raise NotImplementedError
