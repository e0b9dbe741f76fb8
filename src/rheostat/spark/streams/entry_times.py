"""Entry times: when each record entered the topology, and the latency that follows.

Every record has a hidden column with the microsecond at which it entered. User functions do not see it. Records are
stamped when they are first read, unless the source names a column with their own time:

    @entered_at("timestamp")
    def sentences(spark): return spark.readStream.format("kafka")...

A record's latency ends when the batch that read it is committed. That is one moment for the whole batch, so no clock
in the executors is needed: latency is the time of the commit minus the entry times of the rows that the batch read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import DecimalType

from rheostat.errors import TopologyError
from rheostat.snapshot import Latency

ENTRY = "__entry_us"
"""The name of the hidden column."""

# A decimal of 18 digits is stored in eight bytes. A long that is constant in a batch would become a literal in the code
# that Spark generates, and the code would be compiled again, and be cold, in every batch.
ENTRY_TYPE = DecimalType(18, 0)
ENTRY_ARROW = pa.decimal128(18, 0)
_ENTRY_COLUMN = "rheostat_entry_column"
_OBSERVATION = "rheostat_entry"
_POINTS = 33
_US = 1e6

Reader = TypeVar("Reader", bound=Callable[..., Any])


def entered_at(column: str) -> Callable[[Reader], Reader]:
    """Mark a source's reader: the timestamp `column` has the time at which a record entered."""

    def mark(reader: Reader) -> Reader:
        setattr(reader, _ENTRY_COLUMN, column)
        return reader

    return mark


def stamped(df: DataFrame, source: str, reader: Callable[..., Any]) -> DataFrame:
    """`df`, opened by `reader`, with entry times: the source's own, or the moment at which the batch is read."""
    column = getattr(reader, _ENTRY_COLUMN, None)
    if column is not None and column not in df.columns:
        raise TopologyError(
            f"source {source!r} is marked with entered_at({column!r}) but has no such column: {', '.join(df.columns)}"
        )
    moment = sf.current_timestamp() if column is None else sf.col(f"`{column}`").cast("timestamp")
    return df.withColumn(ENTRY, entry_column(sf.unix_micros(moment)))


def entry_column(microseconds: Column) -> Column:
    """Microseconds since the epoch in the type of the hidden column."""
    return microseconds.cast(ENTRY_TYPE)


def carries(df: DataFrame) -> bool:
    """Whether the rows of `df` carry their entry times."""
    return ENTRY in df.columns


@dataclass(frozen=True, slots=True)
class EntryTimes:
    """When `rows` records entered. The times of `known` are known; `points_s` are evenly spaced quantiles of them."""

    rows: int
    known: int
    mean_s: float
    variance_s2: float
    points_s: tuple[float, ...]

    @classmethod
    def at(cls, moment_s: float, rows: int) -> "EntryTimes":
        """All records entered at one moment."""
        return cls(rows, rows, moment_s, 0.0, (moment_s,))

    @classmethod
    def unknown(cls, rows: int) -> "EntryTimes":
        return cls(rows, 0, 0.0, 0.0, ())

    def as_of(self, rows: int) -> "EntryTimes":
        """The times of `rows` records that were made of these."""
        return replace(self, rows=rows, known=rows if self.known else 0)


def with_observed_entry_times(df: DataFrame) -> DataFrame:
    """`df`, with its entry times summarised in Spark's progress reports; for rows that are in no stream."""
    entry = sf.col(ENTRY).cast("long")
    return df.observe(
        _OBSERVATION,
        sf.count(sf.lit(1)).alias("rows"),
        sf.count(entry).alias("known"),
        sf.avg(entry).alias("mean_us"),
        sf.min(entry).alias("first_us"),
        sf.max(entry).alias("last_us"),
    )


def observed_entry_times(observed_metrics: Mapping[str, Any]) -> EntryTimes | None:
    """The entry times of a batch from Spark's report on it.

    The mean is correct to about 0.1 ms, the precision of a double that sums so many microseconds. The times are assumed
    to be spread evenly.
    """
    seen = observed_metrics.get(_OBSERVATION)
    if seen is None or not seen["known"]:
        return None
    first_s, last_s = float(seen["first_us"]) / _US, float(seen["last_us"]) / _US
    mean_s = min(max(first_s, float(seen["mean_us"]) / _US), last_s)
    return EntryTimes(seen["rows"], seen["known"], mean_s, (last_s - first_s) ** 2 / 12, (first_s, last_s))


def entry_times(values: "pa.ChunkedArray") -> EntryTimes:
    """The entry times in a stored hidden column."""
    known = pc.cast(pc.drop_null(values), pa.int64()).to_numpy() / _US
    if not len(known):
        return EntryTimes.unknown(len(values))
    if known.min() == known.max():
        return replace(EntryTimes.at(float(known[0]), len(known)), rows=len(values))
    points = tuple(float(point) for point in np.quantile(known, np.linspace(0, 1, _POINTS)))
    return EntryTimes(len(values), len(known), float(known.mean()), float(known.var()), points)


def together(times: Sequence[EntryTimes]) -> EntryTimes | None:
    """The entry times of several sets of records as one; None if there is no set."""
    if len(times) < 2:
        return times[0] if times else None
    rows, known = sum(part.rows for part in times), sum(part.known for part in times)
    if not known:
        return EntryTimes.unknown(rows)
    moments = {moment_s for part in times if part.known for moment_s in part.points_s}
    if len(moments) == 1:
        return replace(EntryTimes.at(moments.pop(), known), rows=rows)
    mean_s = sum(part.mean_s * part.known for part in times) / known
    spread = sum((part.variance_s2 + (part.mean_s - mean_s) ** 2) * part.known for part in times) / known
    points, weights = _weighted_points(times)
    return EntryTimes(rows, known, mean_s, spread, _quantiles(points, weights, np.linspace(0, 1, _POINTS)))


def latency_until(commit_s: float, times: EntryTimes) -> Latency | None:
    """The latency of records that entered at `times` and were committed at `commit_s`; None if no time is known."""
    if not times.known:
        return None
    mean_s = commit_s - times.mean_s
    median_s, high_s = commit_s - np.quantile(times.points_s, [0.5, 0.01])
    scv = times.variance_s2 / mean_s**2 if mean_s > 0 else None
    return Latency(times.known, mean_s, float(median_s), float(high_s), commit_s - times.points_s[0], scv)


def _weighted_points(times: Sequence[EntryTimes]) -> tuple[np.ndarray, np.ndarray]:
    parts = [part for part in times if part.known]
    points = np.concatenate([part.points_s for part in parts])
    weights = np.concatenate([np.full(len(part.points_s), part.known / len(part.points_s)) for part in parts])
    order = np.argsort(points)
    return points[order], weights[order]


def _quantiles(points: np.ndarray, weights: np.ndarray, shares: np.ndarray) -> tuple[float, ...]:
    """Each point stands for the records around it, so it is placed in the middle of its weight."""
    reached = (np.cumsum(weights) - weights / 2) / weights.sum()
    return tuple(float(value) for value in np.interp(shares, reached, points))
