"""Stage placement: on which executors the stages of an operator run.

Queries are built with `place`; the reconciler changes the answer with `route` while they run. Three ways:

- `PreferredExecutors`, with the JVM helpers: a stage asks, each time it is submitted, for the executors that are
  preferred at that moment. A task with state goes to the executor that has its substream, any other task to one that is
  free, also to one that is preferred only since the stage runs. An executor that is not preferred gets no work: a
  standby, or one that drains. Needs a `spark.locality.wait.process` longer than a batch: after that Spark gives a
  waiting task to any executor.
- `ProfilesOnly`, on plain Spark: a stage runs on any executor of the pool's resource profile.
- `Unplaced`, where there are no pools.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyarrow import RecordBatch
from pyspark.resource import ResourceProfile
from pyspark.sql import DataFrame, SparkSession

from rheostat.errors import PlantError
from rheostat.spark.install import jvm_helpers
from rheostat.spark.state.executor_book import SparkExecutor

_PYTHON_NODES = ("Python", "InArrow", "InPandas")


@dataclass(frozen=True, slots=True)
class StageTarget:
    """Executors of one profile: substream i goes to the i-th of `by_substream`, all other work to any of `serving`.

    While none is named, any executor of the profile gets work.
    """

    profile: ResourceProfile
    serving: Sequence[SparkExecutor] = ()
    by_substream: Sequence[SparkExecutor] = ()


class StagePlacement(Protocol):
    """Where the stages of each operator run."""

    can_route: bool
    """Whether executors can be kept free of work. Without it there are no standbys, no warm-up, no move of a pool."""

    python_operators: set[str]
    """Operators whose queries run Python code in the executors."""

    def place(self, operator: str, df: DataFrame) -> DataFrame:
        """`df`, with the stage that computes it on the operator's executors; for a source `df` as it is."""
        ...

    def route(self, operator: str, target: StageTarget) -> None:
        """From the next stage on, run the operator's stages on `target`; executors that come may also join a stage that
        runs."""
        ...


class Unplaced:
    """No pools: any executor runs any stage."""

    can_route = False

    def __init__(self) -> None:
        self.python_operators: set[str] = set()

    def place(self, operator: str, df: DataFrame) -> DataFrame:
        return df

    def route(self, operator: str, target: StageTarget) -> None:
        """Nothing to route."""


class ProfilesOnly:
    """Stages that name a resource profile, on plain Spark. The profile of an operator is fixed when it is built."""

    can_route = False

    def __init__(self, profiles: Mapping[str, ResourceProfile]) -> None:
        self.python_operators: set[str] = set()
        self._profiles = dict(profiles)

    def place(self, operator: str, df: DataFrame) -> DataFrame:
        _note_python(operator, df, self.python_operators)
        return pin(df, self._profiles[operator]) if operator in self._profiles else df

    def route(self, operator: str, target: StageTarget) -> None:
        if target.profile is not self._profiles[operator]:
            raise PlantError(f"operator {operator!r} cannot change its pool while it runs: that needs the JVM helpers")


class PreferredExecutors:
    """Stages that look up their executors when they are submitted, with the JVM helpers."""

    can_route = True

    def __init__(self, spark: SparkSession, profiles: Mapping[str, ResourceProfile]) -> None:
        self.python_operators: set[str] = set()
        self._preferences = {operator: Preference(spark, profile) for operator, profile in profiles.items()}

    def place(self, operator: str, df: DataFrame) -> DataFrame:
        if operator not in self._preferences:
            return df
        _note_python(operator, df, self.python_operators)
        return self._preferences[operator].place(df)

    def route(self, operator: str, target: StageTarget) -> None:
        self._preferences[operator].set(target)


class Preference:
    """The preferred executors of one operator, at first any of the profile."""

    def __init__(self, spark: SparkSession, profile: ResourceProfile) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._pin: Any = jvm.org.apache.spark.sql.rheostat.Pin
        self._preference: Any = jvm.org.apache.spark.sql.rheostat.ExecutorPreferences(profile._java_resource_profile)
        self._list: Any = jvm.java.util.ArrayList

    def place(self, df: DataFrame) -> DataFrame:
        """`df`, with the stage that computes it run on the preferred executors only."""
        classic: Any = df
        return DataFrame(self._pin.pin(classic._jdf, self._preference), df.sparkSession)

    def set(self, target: StageTarget) -> None:
        """From the next stage on, tasks go to `target`, and those that may go to any executor and wait for one also to
        executors that have come."""
        java_profile: Any = target.profile._java_resource_profile
        self._preference.prefer(java_profile, self._locations(target.serving), self._locations(target.by_substream))

    def _locations(self, executors: Iterable[SparkExecutor]) -> Any:
        java = self._list()
        for executor in executors:
            java.add(executor.location)
        return java


def stage_placement(spark: SparkSession, profiles: Mapping[str, ResourceProfile]) -> StagePlacement:
    """The best placement that the session offers for operators with these profiles."""
    if jvm_helpers.is_loaded(spark.sparkContext._jvm):
        return PreferredExecutors(spark, profiles)
    return ProfilesOnly(profiles)


def pin(df: DataFrame, profile: ResourceProfile) -> DataFrame:
    """`df`, with the stage that computes it run only on executors of `profile`.

    A stage reaches from one shuffle to the next: to hold a whole keyed operator in a pool, pin both its input and its
    output. With the JVM helpers it costs nothing per row; without them every row passes through a Python worker.
    """
    jvm: Any = df.sparkSession.sparkContext._jvm
    if not jvm_helpers.is_loaded(jvm):
        return pin_by_identity(df, profile)
    classic: Any = df
    plan = jvm.org.apache.spark.sql.rheostat.Pin.pin(classic._jdf, classic._build_java_profile(profile))
    return DataFrame(plan, df.sparkSession)


def pin_by_identity(df: DataFrame, profile: ResourceProfile) -> DataFrame:
    """As `pin`, with plain PySpark only."""
    return df.mapInArrow(_identity, df.schema, profile=profile)


def _identity(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    return batches


def _note_python(operator: str, df: DataFrame, operators: set[str]) -> None:
    """A DataFrame that is not streaming is one batch of a query that was looked at when it started."""
    if df.isStreaming:
        classic: Any = df
        plan = str(classic._jdf.queryExecution().analyzed().toString())
        if any(node in plan for node in _PYTHON_NODES):
            operators.add(operator)
