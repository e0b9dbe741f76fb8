"""How work reaches the executors meant for it: by seats, or without the JVM helpers by what plain Spark offers."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import PlantError
from rheostat.spark.act.allocation import Allocation, SparkExecutor
from rheostat.spark.act.executor_preferences import Seats
from rheostat.spark.act.stage_pinning import pin
from rheostat.spark.act.state_location import Switch

Switches = Callable[[str], Switch | None]
"""The switch of a keyed operator by name; None as long as its query has finished no batch."""

_LOG = logging.getLogger(__name__)


class Usher(Protocol):
    """Shows tasks of operators to executors."""

    can_keep_out: bool
    """Whether executors can be kept free of work: without that there are no standbys, no warm-up, no move of a pool."""

    def place(self, operator: str, df: DataFrame) -> DataFrame:
        """`df`, with its stage where the operator's work is shown to."""
        ...

    def show(self, operator: str, serving: Sequence[SparkExecutor], owners: Sequence[SparkExecutor]) -> None:
        """From the next batch on: whoever of `serving` is free; substream i goes to the i-th of `owners`."""
        ...

    def use(self, operator: str, profile: ResourceProfile) -> None:
        """The operator's executors are those of another profile from the next `show` on; only if `can_keep_out`."""
        ...

    def keep_out(self, executor_ids: Iterable[str]) -> None:
        """No more work to those, which are about to leave."""
        ...


class SeatUsher:
    """By preferred executors that are looked up for each stage."""

    can_keep_out = True

    def __init__(self, spark: SparkSession, profiles: Mapping[str, ResourceProfile]) -> None:
        self._seats = {operator: Seats(spark, profile) for operator, profile in profiles.items()}

    def place(self, operator: str, df: DataFrame) -> DataFrame:
        return self._seats[operator].place(df)

    def show(self, operator: str, serving: Sequence[SparkExecutor], owners: Sequence[SparkExecutor]) -> None:
        self._seats[operator].seat(serving, owners)

    def use(self, operator: str, profile: ResourceProfile) -> None:
        self._seats[operator].use(profile)

    def keep_out(self, executor_ids: Iterable[str]) -> None:
        """They have no seat: nothing is left to do."""


class PlainUsher:
    """By pins alone: every executor of a pool gets work, substreams go by Spark's memory of where they were."""

    can_keep_out = False

    def __init__(self, allocation: Allocation, profiles: Mapping[str, ResourceProfile], switches: Switches) -> None:
        self._allocation = allocation
        self._profiles = profiles
        self._switches = switches
        self._shown: dict[str, list[str]] = {}
        self._kept_out: set[str] = set()
        _LOG.warning(
            "without the JVM helpers there are no warm standbys, and new executors get work before they are warm"
        )

    def place(self, operator: str, df: DataFrame) -> DataFrame:
        return pin(df, self._profiles[operator])

    def show(self, operator: str, serving: Sequence[SparkExecutor], owners: Sequence[SparkExecutor]) -> None:
        wanted = [owner.id for owner in owners]
        if not wanted or self._shown.get(operator) == wanted or (switch := self._switches(operator)) is None:
            return
        present = switch.owners()
        switch.move({i: owner for i, owner in enumerate(owners) if present[i] not in (None, owner.id)})
        if None not in present:
            self._shown[operator] = wanted

    def use(self, operator: str, profile: ResourceProfile) -> None:
        raise PlantError(f"the pool of {operator!r} cannot be moved while it runs: that needs the JVM helpers")

    def keep_out(self, executor_ids: Iterable[str]) -> None:
        self._kept_out |= self._allocation.decommission(set(executor_ids) - self._kept_out)
