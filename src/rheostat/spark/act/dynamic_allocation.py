"""Spark's own dynamic allocation, out of the way for a while and back again.

It would move the number of executors beside us, by the backlog of tasks, which says little about a stream. A
manager that was stopped cannot be started again, so giving it back means a new one, made as Spark makes it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

_TARGET = re.compile(r"(\d+) -> (\d+)")
_FIELD = "_executorAllocationManager"


class OwnAllocation:
    """The allocation manager of one application, if it has one."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._stopped = False

    def stop(self) -> dict[int, int] | None:
        """End it; returns how many executors of each profile it wanted at the end, None if there was none."""
        wanted = None if self._stopped else stop_own_allocation(self._spark)
        self._stopped = self._stopped or wanted is not None
        return wanted

    def restore(self, wanted: Mapping[int, int]) -> str | None:
        """Let Spark allocate again, from `wanted` executors of each profile on, if it did before `stop`.

        Returns why that was not possible, if so; Spark's allocation then stays off.
        """
        if not self._stopped:
            return None
        try:
            start_own_allocation(self._spark, wanted)
        except Py4JError as error:
            return f"Spark's dynamic allocation could not be started again: {error}"
        self._stopped = False
        return None


def stop_own_allocation(spark: SparkSession) -> dict[int, int] | None:
    """End Spark's own allocation manager, which would move the executor totals beside us.

    Idle executors then stay, and totals change only when asked. Returns how many executors of each profile it wanted at
    the end, None if there was none.
    """
    manager = spark.sparkContext._jsc.sc().executorAllocationManager()
    if manager.isEmpty():
        return None
    wanted = manager.get().numExecutorsTargetPerResourceProfileId().toString()
    manager.get().stop()
    return {int(profile): int(target) for profile, target in _TARGET.findall(wanted)}


def start_own_allocation(spark: SparkSession, wanted: Mapping[int, int]) -> None:
    """A new allocation manager in place of one that was stopped; it begins with `wanted` executors by profile.

    It must know the profile of every executor there is or may still come, or it fails each time it wants to let an
    idle one go, and does nothing else from then on.
    """
    jvm: Any = spark.sparkContext._jvm
    context: Any = spark.sparkContext._jsc.sc()
    manager = jvm.org.apache.spark.ExecutorAllocationManager(
        context.schedulerBackend(),
        context.listenerBus(),
        context.conf(),
        context.cleaner(),
        jvm.org.apache.spark.util.SystemClock(),
        context.resourceProfileManager(),
        context.shuffleDriverComponents().supportsReliableStorage(),
    )
    targets = manager.numExecutorsTargetPerResourceProfileId()
    for profile, executors in {**dict.fromkeys(_known_profiles(context), 0), **wanted}.items():
        targets.put(profile, executors)
        manager.numExecutorsToAddPerResourceProfileId().put(profile, 1)
    _put(jvm, context, manager)
    manager.start()


def _known_profiles(context: Any) -> Iterator[int]:
    """The ids of all profiles that the application has. Ids are given in turn, so that a new one is above them all."""
    newest = ResourceProfileBuilder().require(TaskResourceRequests().cpus(1)).build.id
    for profile in range(newest):
        try:
            context.resourceProfileManager().resourceProfileFromId(profile)
        except Py4JError:
            continue
        yield profile


def _put(jvm: Any, context: Any, manager: Any) -> None:
    """Where the context finds it when it stops: a manager that outlived its context would ask for ever."""
    field = jvm.java.lang.Class.forName("org.apache.spark.SparkContext").getDeclaredField(_FIELD)
    field.setAccessible(True)
    field.set(context, jvm.scala.Some(manager))
