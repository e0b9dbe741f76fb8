"""State location: which executor has the state of each substream, in Spark's own memory, and how to move it.

A keyed query has one state partition for each substream. Spark runs its task where the state was last. Telling Spark
that it was elsewhere moves it: the next batch runs there and loads the state from the checkpoint. This works on any
running query. It is how substreams move where the JVM helpers are missing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rheostat.errors import PlantError
from rheostat.spark.state.executor_book import SparkExecutor

_STATE = "org.apache.spark.sql.execution.streaming.state"
_JOIN_STORES = tuple(
    f"{side}-{store}" for side in ("left", "right") for store in ("keyToNumValues", "keyWithIndexToValue")
)


class StateLocation:
    """The substreams of one running query, found in its last progress. A restarted query needs a new one."""

    def __init__(self, spark: SparkSession, query: StreamingQuery) -> None:
        self._name = query.name or str(query.id)
        jvm: Any = spark.sparkContext._jvm
        session: Any = spark
        execution: Any = query
        execution = execution._jsq.streamingQuery()
        self._coordinator: Any = session._jsparkSession.streams().stateStoreCoordinator()
        self._state_id: Any = getattr(jvm, f"{_STATE}.StateStoreId")
        self._provider_id: Any = getattr(jvm, f"{_STATE}.StateStoreProviderId")
        self._nobody: Any = jvm.PythonUtils.toSeq([])
        self._run_id: Any = execution.runId()
        self._root = f"{execution.resolvedCheckpointRoot()}/state"
        self._operators = _state_operators(query, self._name)

    @classmethod
    def of(cls, spark: SparkSession, query: StreamingQuery) -> Self | None:
        """None while the query has not finished a batch with state."""
        return cls(spark, query) if _state_steps(query) else None

    @property
    def substreams(self) -> int:
        return max(partitions for partitions, _ in self._operators)

    def owners(self) -> tuple[str | None, ...]:
        """The id of the executor that has each substream; None for one that no batch has run yet."""
        return tuple(self._owner(substream) for substream in range(self.substreams))

    def move(self, targets: Mapping[int, SparkExecutor]) -> None:
        """From the next batch on, each of these substreams runs on its executor, and stays there."""
        for substream, target in targets.items():
            if not 0 <= substream < self.substreams:
                raise PlantError(f"query {self._name!r} has substreams 0 to {self.substreams - 1}, not {substream}")
            for store in self._stores(substream):
                self._coordinator.reportActiveInstance(store, target.host, target.id, self._nobody)

    def _owner(self, substream: int) -> str | None:
        location = self._coordinator.getLocation(self._stores(substream)[0])
        return None if location.isEmpty() else str(location.get()).rpartition("_")[2]

    def _stores(self, substream: int) -> list[Any]:
        """Everything that must be moved together: a chain of stateful steps in one stage, both sides of a join."""
        return [
            self._provider_id(self._state_id(self._root, operator, substream, store), self._run_id)
            for operator, (partitions, stores) in enumerate(self._operators)
            if substream < partitions
            for store in stores
        ]


def move_state(spark: SparkSession, query: StreamingQuery, owners: Sequence[SparkExecutor]) -> bool:
    """Have the i-th of `owners` run substream i; False if some have no location yet, so that it must be tried again."""
    location = StateLocation.of(spark, query)
    if location is None:
        return False
    present = location.owners()
    location.move({i: owner for i, owner in enumerate(owners) if present[i] not in (None, owner.id)})
    return None not in present


def _state_operators(query: StreamingQuery, name: str) -> list[tuple[int, tuple[str, ...]]]:
    """State partitions and names of the stores of each stateful step."""
    if not (steps := _state_steps(query)):
        raise PlantError(f"query {name!r} has no state that could move, or has not finished a batch yet")
    return [
        (step["numShufflePartitions"], _JOIN_STORES if step["operatorName"] == "symmetricHashJoin" else ("default",))
        for step in steps
    ]


def _state_steps(query: StreamingQuery) -> list[dict[str, Any]]:
    progress = query.lastProgress
    return list(progress["stateOperators"]) if progress else []
