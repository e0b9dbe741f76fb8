"""Stream schemas: the columns of every stream, found by calling the operators' functions.

On a loop the schema of a stream depends on itself. There the search starts with the schema that the function declares
(a function on single records always does, others by `emits`), or else assumes that what comes around the loop looks
like what enters it, and repeats until nothing changes.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructField, StructType

from rheostat.errors import TopologyError
from rheostat.spark.query.unit import Unit, topics_of
from rheostat.spark.query.unit_dataframe import DataFrameBuilder
from rheostat.spark.query.user_functions import declared_schema
from rheostat.spark.state.stage_placement import Unplaced
from rheostat.spark.streams.entry_times import ENTRY, ENTRY_TYPE
from rheostat.spark.streams.python_source import open_source
from rheostat.spark.streams.topic_records import STAMPED_RECORDS


def stream_schemas(units: Sequence[Unit], session: SparkSession) -> dict[str, StructType]:
    """The schema, hidden columns included, of each stream that units write or that leaves the topology."""
    found: dict[str, StructType] = dict.fromkeys(topics_of(units[0].topology), STAMPED_RECORDS)
    for _ in range(2 * len(units) + 1):
        before = dict(found)
        for unit in units:
            if all(name in found for name in unit.inputs):
                found.update(_output_schemas(unit, session, found))
        missing = [name for unit in units for name in unit.inputs if name not in found]
        if missing and found == before:
            found[missing[0]] = _first_guess(units, found, missing[0])
        elif found == before:
            return found
    unsettled = sorted(name for name in found if found[name] != before.get(name))
    raise TopologyError(
        f"the schemas of streams on a loop keep changing ({', '.join(unsettled)}): "
        "mark the functions on the loop with emits(...)"
    )


def _output_schemas(unit: Unit, session: SparkSession, known: Mapping[str, StructType]) -> dict[str, StructType]:
    inputs = {name: open_source(session, _UnreadSource(known[name]), name) for name in unit.inputs}
    frames = DataFrameBuilder(Unplaced()).output_frames(unit, session, inputs)
    return {name: _as_stored(name, df.schema) for name, df in frames.items()}


def _first_guess(units: Sequence[Unit], found: Mapping[str, StructType], stream: str) -> StructType:
    topology = units[0].topology
    operator, _, output = stream.partition(".")
    declared = declared_schema(topology.operators[operator].function, output)
    readers = [unit for unit in units if stream in unit.inputs]
    others = [found[name] for unit in readers for name in unit.inputs if name in found]
    guess = declared or next(iter(others), None)
    if guess is None:
        raise TopologyError(f"stream {stream!r} is on a loop: mark the function of {operator!r} with emits(...)")
    columns = [field for field in guess.fields if field.name != ENTRY]
    return _as_stored(stream, StructType([*columns, StructField(ENTRY, ENTRY_TYPE)]))


def _as_stored(stream: str, schema: StructType) -> StructType:
    """The schema as it is read back from files, where every column is nullable."""
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


class _UnreadSource:
    """A source that has a schema and is never read."""

    def __init__(self, schema: StructType) -> None:
        self.schema = schema

    def newest(self, committed: int) -> int:
        raise NotImplementedError

    def batch(self, after: int, until: int) -> DataFrame:
        raise NotImplementedError

    def done(self, until: int) -> None:
        raise NotImplementedError
