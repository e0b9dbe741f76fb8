"""Durable stream: the interface between queries. Batches are published once, read in order and then deleted.

A stream is written by one query and read by any number of others, each at its own pace. A batch is published as a
whole, under the number that Spark gave it. Publishing a number again changes nothing, so a batch that Spark repeats
after a failure is not duplicated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rheostat.snapshot import PartitionState
from rheostat.spark.streams.batch_admission import BatchAdmission
from rheostat.spark.streams.entry_times import EntryTimes

SpreadRows = Callable[[DataFrame, Sequence[int]], DataFrame]
"""Spreads the rows of a batch over tasks, given the batch and the bytes of each file (or partition) it comes from."""


_LIVE_S = 30.0
"""Entry times that are further from the time of publication say when records were made, not when they came."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One published batch as one reader sees it: when it was published, its size, when its rows entered."""

    position: int
    published_s: float
    rows: int
    bytes: int
    entry: EntryTimes | None

    @property
    def until_s(self) -> float:
        """When the newest of its rows came: if it is of a source, all that came before are in it or in earlier ones."""
        newest_s = self.entry.points_s[-1] if self.entry is not None and self.entry.known else self.published_s
        return newest_s if abs(self.published_s - newest_s) <= _LIVE_S else self.published_s


class StreamReader(Protocol):
    """One query's view of a stream."""

    @property
    def df(self) -> DataFrame:
        """The stream as a streaming DataFrame."""
        ...

    def has_new_input(self) -> bool:
        """Whether there is something to read that Spark was not told of yet."""
        ...

    def taken(self) -> tuple[Arrival, ...]:
        """What the batch under way reads."""
        ...

    @property
    def problem(self) -> str | None:
        """Why it is not known what waits, besides that the query has not started; None if it is."""
        ...

    def waiting(self) -> tuple[Arrival, ...] | None:
        """What is published and not in a committed batch of this reader; None before its query has started."""
        ...

    def partitions(self) -> tuple[PartitionState, ...]:
        """The same by partition, if the stream is a topic."""
        ...


class DurableStream(Protocol):
    """Where one query's records go."""

    def is_published(self, batch: int) -> bool: ...

    def publish(self, df: DataFrame, batch: int, entry: EntryTimes | None) -> None:
        """Make the rows of `df` visible to all readers at once, as batch number `batch`.

        `entry` has the entry times of rows that do not carry their own.
        """
        ...

    def reader(
        self, session: SparkSession, name: str, output: str | None, spread: SpreadRows, admission: BatchAdmission
    ) -> StreamReader:
        """The stream for the reader called `name`; `output` selects one of several outputs in the stream."""
        ...


class StreamKind(Protocol):
    """A technology for streams, such as files or a message broker."""

    @property
    def session_settings(self) -> Mapping[str, str]:
        """The settings that sessions need to write and read these streams."""
        ...

    def open(self, session: SparkSession, name: str, schema: StructType, readers: Sequence[str]) -> DurableStream:
        """The stream called `name`, new or from an earlier run. Nobody but `readers` will read it."""
        ...

    def close(self) -> None:
        """No stream is written any more."""
        ...
