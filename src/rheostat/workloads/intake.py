"""Intake: JSON records from a folder, and those that cannot be used set aside with the reason.

    @checked("stock string, price long")
    def accept(order):
        require(order["price"] > 0, "price out of range")
        yield {"stock": order["stock"], "price": order["price"]}

    Operator("accept", accept, inputs="orders", outputs=["good", "rejected"])

What passes goes on in `accept.good`. What does not is a result, `accept.rejected`: the reason and the whole record,
in files in `DIR/results/accept.rejected`, where `rheostat run` counts them when it ends.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.spark.query.per_record.record_function import Record, RecordFunction, per_record
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import REJECTED

GOOD = "good"
MALFORMED = "malformed"
"""The column that has the text of a record which is not JSON, or has values of other types than the schema."""

_ENTERED = "entered"
_REJECTED = "reason string, record string"


class UnusableError(ValueError):
    """Why a record cannot be used, in few words: records are counted by reason."""


def require(condition: bool, reason: str) -> None:
    """Set the record aside for `reason` unless `condition` holds."""
    if not condition:
        raise UnusableError(reason)


def require_timely(record: Record, at: datetime, late_s: float = 60.0, early_s: float = 5.0) -> None:
    """Set the record aside if its own time is too far from the time at which it entered."""
    behind_s = (record[_ENTERED] - at).total_seconds()
    require(behind_s <= late_s, f"more than {late_s:g} s late")
    require(behind_s >= -early_s, f"more than {early_s:g} s in the future")


def json_records(folder: Path, schema: str) -> Callable[[SparkSession], DataFrame]:
    """Opens the JSON files in `folder`. Records without a time in `entered` enter when they are read."""

    @entered_at(_ENTERED)
    def read(spark: SparkSession) -> DataFrame:
        files = spark.readStream.schema(f"{_ENTERED} timestamp, {schema}, {MALFORMED} string")
        df = files.option("columnNameOfCorruptRecord", MALFORMED).json(str(folder))
        return df.withColumn(_ENTERED, sf.coalesce(_ENTERED, sf.current_timestamp()))

    return read


def checked(
    schema: str | Mapping[str, str], *, optional: Collection[str] = (), cost: str | None = None
) -> Callable[[Callable[[Record], Iterable[Any] | None]], RecordFunction]:
    """As `per_record`, with an output `rejected` for records that `require` refuses, that are malformed, or that lack a
    value in a column which is not `optional`. The others go to the output `good`, or to those that `schema` names."""
    outputs = {GOOD: schema} if isinstance(schema, str) else dict(schema)

    def mark(function: Callable[[Record], Iterable[Any] | None]) -> RecordFunction:
        @per_record({**outputs, REJECTED: _REJECTED}, cost=cost)
        def check(record: Record) -> Iterator[tuple[str, Record]]:
            try:
                _require_complete(record, optional)
                made = list(function(record) or ())
            except UnusableError as error:
                yield REJECTED, {"reason": str(error), "record": _text(record)}
            else:
                yield from ((GOOD, item) for item in made) if isinstance(schema, str) else made

        return check

    return mark


def _require_complete(record: Record, optional: Collection[str]) -> None:
    require(record.get(MALFORMED) is None, "malformed")
    for name, value in record.items():
        require(value is not None or name in optional or name == MALFORMED, f"no {name}")


def _text(record: Record) -> str:
    """The record as it came in."""
    if record.get(MALFORMED) is not None:
        return str(record[MALFORMED])
    return json.dumps({name: value for name, value in record.items() if name != MALFORMED}, default=str)
