"""Dynamic allocation: Spark's own, stopped while the reconciler works and started again afterwards.

It would change the number of executors too, by the backlog of tasks, which says little about a stream. A manager that
was stopped cannot be started again: a new one takes its place.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import SparkSession

_TARGET = re.compile(r"(\d+) -> (\d+)")
_FIELD = "_executorAllocationManager"


def has_dynamic_allocation(spark: SparkSession) -> bool:
    """Whether Spark changes the number of executors by itself."""
    return not spark.sparkContext._jsc.sc().executorAllocationManager().isEmpty()


def stop_dynamic_allocation(spark: SparkSession) -> dict[int, int] | None:
    """Stop Spark's allocation manager: idle executors then stay, and totals change only on request.

    Returns how many executors of each profile it wanted last, None if there was none.
    """
    manager = spark.sparkContext._jsc.sc().executorAllocationManager()
    if manager.isEmpty():
        return None
    wanted = manager.get().numExecutorsTargetPerResourceProfileId().toString()
    manager.get().stop()
    return {int(profile): int(target) for profile, target in _TARGET.findall(wanted)}


def start_dynamic_allocation(spark: SparkSession, wanted: Mapping[int, int]) -> None:
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
