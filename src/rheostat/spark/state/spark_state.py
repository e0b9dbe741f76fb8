"""Spark state: all that the observing and the acting side of a Spark plant share."""

from dataclasses import dataclass, field

from rheostat.spark.state.executor_book import ExecutorBook
from rheostat.spark.state.query_groups import QueryGroups
from rheostat.spark.state.stage_placement import StagePlacement


@dataclass(slots=True)
class SparkState:
    """One for each plant. `book` is replaced by a new one, never changed in place."""

    book: ExecutorBook
    placement: StagePlacement
    groups: QueryGroups = field(default_factory=QueryGroups)
