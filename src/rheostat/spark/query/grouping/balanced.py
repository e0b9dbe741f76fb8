"""Groupings that go by what values cost: OSG (DABS-Storm §5.2) and batch-greedy.

Every task that reads a part of the batch is one scheduler of several. What has been learned is sent along with it, so
that a repeated task deals its rows out the same way. A batch begins when all tasks of the one before have ended: that
is the moment at which OSG's loads are synchronised, and no request is ever answered within a batch.

While nothing is known, rows are spread evenly.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import LongType

from rheostat.errors import ConfigError
from rheostat.grouping import BatchGreedy, CostSketch, Scheduler
from rheostat.grouping import RecordGrouping as Assignment
from rheostat.grouping.check import BATCH_GREEDY, OSG
from rheostat.grouping.grouping import Values
from rheostat.spark.query.grouping.cost_sketch import value_of
from rheostat.spark.query.grouping.row_groupings import Evenly, Grouping, by_number, packed
from rheostat.spark.query.per_record.record_function import RecordFunction
from rheostat.spark.query.per_record.timings import Timings
from rheostat.topology import Operator

Learned = Callable[[], Timings | None]
"""What the executors have told of an operator until now."""


def osg(tasks: int, sketch: CostSketch) -> Scheduler:
    """A scheduler to which every task has told the same: which executor runs a task is not known beforehand."""
    scheduler = Scheduler(tasks)
    for task in range(tasks):
        scheduler.receive_sketch(task, sketch)
    return scheduler


Make = Callable[[int, CostSketch], Assignment]
"""A way to assign rows to a number of tasks by what values cost."""

_BY_COST: Mapping[str, Make] = {OSG: osg, BATCH_GREEDY: BatchGreedy}
BALANCED = tuple(_BY_COST)
"""The names of these groupings in plans."""


def choices(operator: Operator) -> tuple[str, ...]:
    """Which of `BALANCED` there are for the rows of `operator`."""
    return () if _cost_column(operator) is None else BALANCED


def balanced(name: str, operator: Operator, tasks: int, learned: Learned) -> Grouping:
    """The grouping called `name`, one of `BALANCED`, for the rows of `operator`."""
    column = _cost_column(operator)
    if column is None:
        raise ConfigError(
            f"operator {operator.name!r}: {name!r} needs to know which values cost more than others: make its "
            "function one on single records and name their column, per_record(..., cost=COLUMN), or use 'load-aware'"
        )
    return ByCost(tasks, column, _BY_COST[name], learned)


def _cost_column(operator: Operator) -> str | None:
    return operator.function.cost if isinstance(operator.function, RecordFunction) else None


class ByCost:
    """Rows over tasks by what their values in `column` cost lately, as the grouping that `make` makes assigns them."""

    def __init__(self, tasks: int, column: str, make: Make, learned: Learned) -> None:
        self._tasks, self._column, self._make, self._learned = tasks, column, make, learned
        self._otherwise = Evenly(tasks)

    def spread(self, df: DataFrame, file_bytes: Sequence[int]) -> DataFrame:
        timings = self._learned()
        if timings is None or timings.costs is None:
            return self._otherwise.spread(df, file_bytes)
        packed(df, file_bytes, self._tasks)
        number = assigned(self._make(self._tasks, timings.costs.sketch), value_of(self._column))
        # Of equally loaded tasks the first gets the next row: were it the same for all schedulers, it would get most.
        return by_number(df, self._tasks, number + sf.spark_partition_id())


def assigned(grouping: Assignment, value: Column) -> Column:
    """The number of the task to which `grouping` gives a row with this `value`."""

    def numbers(values: Iterator[pa.Array]) -> Iterator[pa.Array]:
        chunks = (chunk.to_numpy(zero_copy_only=False) for chunk in values)
        for chunk in _at_once(chunks) if isinstance(grouping, BatchGreedy) else chunks:
            yield pa.array(grouping.assign(chunk), pa.int64())

    as_udf: Callable[..., Callable[[Column], Column]] = arrow_udf
    return as_udf(numbers, LongType())(value.cast("long"))


def _at_once(chunks: Iterator[Values]) -> Iterator[Values]:
    """All of them as one, where a grouping can do more with more rows."""
    if known := list(chunks):
        yield np.concatenate(known)
