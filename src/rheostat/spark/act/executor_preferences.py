"""Which executor of a pool runs which task, changed while queries run.

A stage that is placed here asks, each time it is submitted, for the executors that are seated at that moment: a
task with state for the one that has its substream, any other task for whichever is free. An executor that has no
seat gets no work: a warm standby, or one about to leave. Needs the JVM helpers, and a `spark.locality.wait.process`
that is longer than a batch: after that Spark gives a waiting task to anyone.
"""

from collections.abc import Iterable
from typing import Any

from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession

from rheostat.spark.act.allocation import SparkExecutor
from rheostat.spark.install import jvm_helpers


class Seats:
    """The seats of one operator, empty at first: as long as they are, any executor of the profile serves."""

    def __init__(self, spark: SparkSession, profile: ResourceProfile) -> None:
        self._profile: Any = profile._java_resource_profile
        jvm: Any = spark.sparkContext._jvm
        self._pin: Any = jvm.org.apache.spark.sql.rheostat.Pin
        self._seating: Any = jvm.org.apache.spark.sql.rheostat.Seating(self._profile)
        self._list: Any = jvm.java.util.ArrayList
        self._now: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @staticmethod
    def can_be_had(spark: SparkSession) -> bool:
        """Whether this session has the JVM helpers."""
        return jvm_helpers.is_loaded(spark.sparkContext._jvm)

    def place(self, df: DataFrame) -> DataFrame:
        """`df`, with the stage that computes it run on the seated executors only."""
        classic: Any = df
        return DataFrame(self._pin.pin(classic._jdf, self._seating), df.sparkSession)

    def use(self, profile: ResourceProfile) -> None:
        """Whoever is seated next is of this profile."""
        self._profile = profile._java_resource_profile
        self._now = ((), ())

    def seat(self, serving: Iterable[SparkExecutor], by_substream: Iterable[SparkExecutor] = ()) -> bool:
        """From the next stage on, `serving` get the work; the i-th of `by_substream` gets substream i.

        False if that was so already.
        """
        wanted = tuple(e.location for e in serving), tuple(e.location for e in by_substream)
        if wanted == self._now:
            return False
        self._seating.seat(self._profile, self._java_list(wanted[0]), self._java_list(wanted[1]))
        self._now = wanted
        return True

    def _java_list(self, values: Iterable[str]) -> Any:
        java = self._list()
        for value in values:
            java.add(value)
        return java
