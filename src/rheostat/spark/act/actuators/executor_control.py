"""Executor control: takes the executors of an application over from Spark's dynamic allocation, and gives them back.

Only one controller at a time can have them.
"""

from collections.abc import Collection, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from rheostat.errors import PlantError
from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.act.actuators.dynamic_allocation import start_dynamic_allocation, stop_dynamic_allocation
from rheostat.spark.act.cluster_view import DEFAULT_PROFILE

_MARK = "_rheostat_controller"
"""An attribute of the context of an application whose executors are under control."""


class ExecutorControl:
    """Of one application, for a controller that calls itself `owner`. Raises `PlantError` if another one has it."""

    def __init__(self, spark: SparkSession, owner: str) -> None:
        self._context: Any = spark.sparkContext
        if (other := getattr(self._context, _MARK, None)) is not None:
            raise PlantError(
                f"the executors of application {self._context.appName!r} are controlled by {other} already"
            )
        setattr(self._context, _MARK, owner)
        self._spark = spark
        self._had_dynamic_allocation = False

    def take_over(self) -> dict[int, int]:
        """Stop dynamic allocation; returns how many executors of each profile it wanted, if there was one."""
        targets = stop_dynamic_allocation(self._spark)
        self._had_dynamic_allocation |= targets is not None
        return targets or {}

    @property
    def had_dynamic_allocation(self) -> bool:
        return self._had_dynamic_allocation

    @property
    def has_ended(self) -> bool:
        """Whether the application has stopped."""
        return self._context._jsc is None or bool(self._context._jsc.sc().isStopped())

    def end_pools(self, allocation: AllocationClient, profiles: Collection[int], reserved: int) -> None:
        """End all executors of these profiles, busy or not, and keep `reserved` of the default one."""
        self.release()
        allocation.request({DEFAULT_PROFILE: reserved})
        allocation.kill((each.id for each in allocation.executors() if each.profile in profiles), force=True)

    def hand_back(self, targets: Mapping[int, int]) -> None:
        """Let Spark allocate again if it did before, starting from `targets` by profile."""
        self.release()
        if self._had_dynamic_allocation:
            try:
                start_dynamic_allocation(self._spark, targets)
            except Py4JError as error:
                raise PlantError(f"Spark's dynamic allocation could not be started again: {error}") from error
            self._had_dynamic_allocation = False

    def release(self) -> None:
        """Let another controller have the executors."""
        setattr(self._context, _MARK, None)
