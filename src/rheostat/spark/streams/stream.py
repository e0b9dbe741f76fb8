"""What a kind of stream must offer: batches go in once, readers take them in order, consumed ones go away.

A stream is written by one query and read by any number of others, each at its own pace. What is published is a
batch as a whole, under the number that Spark gave it; publishing a number again changes nothing, so that a batch
which Spark repeats after a failure is not doubled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.spark.streams.entry_times import EntryTimes
from rheostat.spark.streams.gate import Gate

Arrange = Callable[[DataFrame, Sequence[int]], DataFrame]
"""Spreads a batch over tasks; it gets the batch and the bytes of each file (or partition) it comes from."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One published batch, as far as one reader is concerned: when it came, how much it was, when it entered."""

    position: int
    published_s: float
    rows: int
    bytes: int
    entry: EntryTimes | None


class StreamReader(Protocol):
    """One query's view of a stream."""

    @property
    def df(self) -> DataFrame:
        """The stream as a streaming DataFrame."""
        ...

    def has_news(self) -> bool:
        """Whether there is something that was not offered to Spark yet."""
        ...

    def taken(self) -> tuple[Arrival, ...]:
        """What the batch under way reads."""
        ...

    def waiting(self) -> tuple[Arrival, ...] | None:
        """What is published and not in a committed batch of this reader; None before its query has started."""
        ...


class Stream(Protocol):
    """Where one query's records go."""

    def is_published(self, batch: int) -> bool: ...

    def publish(self, df: DataFrame, batch: int, entry: EntryTimes | None) -> None:
        """Make the rows of `df` visible to all readers at once, as batch number `batch`.

        Rows that do not carry their entry times share those in `entry`.
        """
        ...

    def reader(self, session: SparkSession, who: str, output: str | None, arrange: Arrange, gate: Gate) -> StreamReader:
        """The stream as `who` reads it; of several outputs in one stream only `output`. It waits at `gate`."""
        ...


class StreamKind(Protocol):
    """A technique for streams: files, a message broker."""

    @property
    def session_settings(self) -> Mapping[str, str]:
        """What sessions that write and read these streams must be set to."""
        ...

    def open(self, session: SparkSession, name: str, schema: StructType, readers: Sequence[str]) -> Stream:
        """The stream called `name`, new or from an earlier run. Nobody but `readers` will read it."""
        ...
