"""Balanced groupings: rows are spread by what their values cost, with OSG (DABS-Storm §5.2) or batch-greedy.

Every task that reads a part of the batch is one of several schedulers. It gets the learned costs with its code, so a
repeated task spreads its rows in the same way. A batch starts when all tasks of the one before have ended. That is
when OSG's loads are synchronised; within a batch no scheduler gets an answer.

Rows are spread evenly while no costs are known.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import LongType

from rheostat.errors import ConfigError
from rheostat.grouping import BatchGreedy, CostSketch, RecordGrouping, Scheduler
from rheostat.grouping.check import BATCH_GREEDY, OSG
from rheostat.grouping.grouping import Values
from rheostat.spark.query.grouping.recent_costs import value_of
from rheostat.spark.query.grouping.row_groupings import Evenly, RowGrouping, by_number, pack_files
from rheostat.spark.query.per_record.record_function import RecordFunction
from rheostat.spark.query.per_record.timings import Timings
from rheostat.topology import Operator

ReadTimings = Callable[[], Timings | None]
"""Returns what the executors have measured of an operator so far."""


def osg(tasks: int, sketch: CostSketch) -> Scheduler:
    """A scheduler that expects the same costs of every task, since the executor of a task is not known beforehand."""
    scheduler = Scheduler(tasks)
    for task in range(tasks):
        scheduler.receive_sketch(task, sketch)
    return scheduler


MakeGrouping = Callable[[int, CostSketch], RecordGrouping]
"""Makes a grouping for a number of tasks from the costs of values."""

_BY_COST: Mapping[str, MakeGrouping] = {OSG: osg, BATCH_GREEDY: BatchGreedy}
BALANCED = tuple(_BY_COST)
"""The names of these groupings in plans."""


def choices(operator: Operator) -> tuple[str, ...]:
    """Those of `BALANCED` that can be used for the rows of `operator`."""
    return () if _cost_column(operator) is None else BALANCED


def balanced(name: str, operator: Operator, tasks: int, timings: ReadTimings) -> RowGrouping:
    """The grouping called `name`, one of `BALANCED`, for the rows of `operator`."""
    column = _cost_column(operator)
    if column is None:
        raise ConfigError(
            f"operator {operator.name!r}: {name!r} needs the column whose values decide what a record costs: use a "
            "function on single records and name the column, per_record(..., cost=COLUMN), or use 'load-aware'"
        )
    return ByCost(tasks, column, _BY_COST[name], timings)


def _cost_column(operator: Operator) -> str | None:
    return operator.function.cost if isinstance(operator.function, RecordFunction) else None


class ByCost:
    """Rows to tasks by the recent costs of their values in `column`, as the grouping from `make` decides."""

    def __init__(self, tasks: int, column: str, make: MakeGrouping, timings: ReadTimings) -> None:
        self._tasks, self._column, self._make, self._timings = tasks, column, make, timings
        self._evenly = Evenly(tasks)

    def spread(self, df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
        timings = self._timings()
        if timings is None or timings.costs is None:
            return self._evenly.spread(df, file_bytes)
        pack_files(df, file_bytes, self._tasks)
        number = assigned(self._make(self._tasks, timings.costs.sketch), value_of(self._column))
        # Of equally loaded tasks the first gets the next row. If it were the same for all schedulers it would get most.
        return by_number(df, self._tasks, number + sf.spark_partition_id())


def assigned(grouping: RecordGrouping, value: Column) -> Column:
    """The number of the task to which `grouping` assigns a row with this `value`."""

    def numbers(values: Iterator[pa.Array]) -> Iterator[pa.Array]:
        chunks = (chunk.to_numpy(zero_copy_only=False) for chunk in values)
        for chunk in _at_once(chunks) if isinstance(grouping, BatchGreedy) else chunks:
            yield pa.array(grouping.assign(chunk), pa.int64())

    as_udf: Callable[..., Callable[[Column], Column]] = arrow_udf
    return as_udf(numbers, LongType())(value.cast("long"))


def _at_once(chunks: Iterator[Values]) -> Iterator[Values]:
    """All chunks as one, for a grouping that does better with more rows."""
    if known := list(chunks):
        yield np.concatenate(known)
