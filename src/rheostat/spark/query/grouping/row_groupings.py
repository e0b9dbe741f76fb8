"""Row groupings: ways to spread the rows of a stateless operator over the tasks of a batch.

A shuffle costs several hundred nanoseconds per row and a stage of its own. It is avoided if the batch comes in enough
files of similar size: then tasks get whole files, by a cap on the bytes of a task.

Spark packs files by size, largest first, and closes a task when the next file would exceed the cap. The same is
computed here to find the smallest cap that needs no more tasks than wanted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.errors import ConfigError

_TOLERATED_IMBALANCE = 1.25
_PARTS_PER_SLOT = 3
"""An executor at a third of the others' speed then gets a third of their rows. Each part costs as much as a task."""


class RowGrouping(Protocol):
    """A way to spread rows over tasks."""

    def spread(self, df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
        """`df`, read from files of these sizes, with its rows in the wanted partitions.

        `df` must have a session of its own: how files are packed is a setting there.
        """
        ...


@dataclass(frozen=True, slots=True)
class WholeFiles:
    """Whole files on up to `tasks` tasks: never a shuffle, whatever the sizes."""

    tasks: int

    def __post_init__(self) -> None:
        _check_tasks(self.tasks)

    def spread(self, df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
        pack_files(df, file_bytes, self.tasks)
        return df


@dataclass(frozen=True, slots=True)
class Evenly:
    """The same number of rows to each of `tasks`: whole files if that is even enough, else round robin."""

    tasks: int

    def __post_init__(self) -> None:
        _check_tasks(self.tasks)

    def spread(self, df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
        cap = cap_for(file_bytes, self.tasks)
        _cap_tasks(df.sparkSession, cap)
        if cap * self.tasks <= sum(file_bytes) * _TOLERATED_IMBALANCE:
            return df
        # Spark's own round robin sorts all rows first, so that a repeated task spreads them in the same way. Rows of a
        # file always come in the same order, and so do their numbers: no sort is needed.
        number = sf.monotonically_increasing_id() + sf.spark_partition_id()
        return by_number(df, self.tasks, number)


@dataclass(frozen=True, slots=True)
class InParts:
    """The rows in several even parts for each of `tasks`, which executors take as they become free.

    PA-SPS's load-aware grouping (Algorithm 1) on micro-batches. When a batch starts no executor is busy, so there is no
    earlier load to even out. From then on the least loaded executor gets the next part: Spark knows which one is idle,
    where Algorithm 1 adds up what each was given.
    """

    tasks: int

    def __post_init__(self) -> None:
        _check_tasks(self.tasks)

    def spread(self, df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
        return Evenly(_PARTS_PER_SLOT * self.tasks).spread(df, file_bytes)


@dataclass(frozen=True, slots=True)
class ByColumnHash:
    """All rows with the same value in `column` to one task, by its hash."""

    tasks: int
    column: str

    def __post_init__(self) -> None:
        _check_tasks(self.tasks)

    def spread(self, df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
        return df.repartition(self.tasks, sf.col(f"`{self.column}`"))


def by_number(df: DataFrame, tasks: int, number: Column) -> DataFrame:
    """Each row to the task of its `number`; numbers outside 0 .. tasks − 1 wrap around."""
    return df.repartitionById(tasks, sf.pmod(number, sf.lit(tasks)).cast("int"))


def pack_files(df: DataFrame, file_bytes: Sequence[int], tasks: int) -> None:
    """Have the files of `df` read by up to `tasks` tasks."""
    _cap_tasks(df.sparkSession, cap_for(file_bytes, tasks))


def cap_for(file_bytes: Sequence[int], tasks: int) -> int:
    """The smallest cap on a task's bytes under which `file_bytes` need no more than `tasks` tasks.

    Never below the largest file: a part of a Parquet file would come without any rows.
    """
    low, high = max(file_bytes, default=1), max(1, sum(file_bytes))
    while low < high:
        cap = (low + high) // 2
        if _tasks_under(cap, file_bytes) <= tasks:
            high = cap
        else:
            low = cap + 1
    return low


def _tasks_under(cap: int, file_bytes: Sequence[int]) -> int:
    tasks, filled = 1, 0
    for size in sorted(file_bytes, reverse=True):
        if filled and filled + size > cap:
            tasks, filled = tasks + 1, 0
        filled += size
    return tasks


def _cap_tasks(session: SparkSession, cap: int) -> None:
    """Have `session` pack files into tasks by their bytes alone, up to `cap`."""
    session.conf.set("spark.sql.files.maxPartitionBytes", str(max(1, cap)))
    session.conf.set("spark.sql.files.openCostInBytes", "0")
    session.conf.set("spark.sql.files.minPartitionNum", "1")


def _check_tasks(tasks: int) -> None:
    if isinstance(tasks, bool) or not isinstance(tasks, int) or tasks < 1:
        raise ConfigError(f"a batch cannot have {tasks!r} tasks: give a whole number >= 1")
