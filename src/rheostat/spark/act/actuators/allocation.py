"""Allocation client: requests, lists and ends executors of an application, by resource profile.

It is the interface that Spark's dynamic allocation uses, so it works on every cluster manager. Each call takes a few
milliseconds and none waits for an executor.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from rheostat.errors import PlantError
from rheostat.spark.state.executor_book import SparkExecutor

_decode_executors = msgspec.json.Decoder(list[SparkExecutor]).decode


class AllocationClient:
    """The executors of one application. Raises `PlantError` where the session cannot allocate (`local`, Connect)."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._jvm = jvm
        self._context: Any = spark.sparkContext._jsc.sc()
        self._backend: Any = self._context.schedulerBackend()
        if not hasattr(self._backend, "requestTotalExecutors"):
            raise PlantError(f"master {spark.sparkContext.master!r} has no executors to allocate: use a cluster's URL")
        self._tracker: Any = self._context.statusTracker()
        self._queries: Any = spark._jsparkSession.sharedState().activeStreamingQueries()
        self._store: Any = self._context.statusStore()
        self._requested: set[int] = set()
        self.last_request: Mapping[int, int] = {}
        self._killed: set[str] = set()
        self._mapper: Any = self._jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()

    def executors(self) -> tuple[SparkExecutor, ...]:
        """The registered executors, oldest first, without those that were killed: Spark lists them for some seconds."""
        listed = _decode_executors(self._mapper.writeValueAsString(self._store.executorList(True)))
        self._killed &= {each.id for each in listed}
        present = (each for each in listed if each.id != "driver" and each.id not in self._killed)
        return tuple(sorted(present, key=lambda each: int(each.id)))

    def is_active(self, executor_id: str) -> bool:
        """Whether Spark would give tasks to it: neither dead nor told to go."""
        return bool(self._backend.isExecutorActive(executor_id))

    def request(self, totals: Mapping[int, int]) -> None:
        """Ask for this many executors of each profile; one that is left out is asked for none.

        More are started when the cluster has room for them. Fewer ends none: say which with `kill`.
        """
        # A standalone master keeps the last number it was given for a profile, so none may be left out later.
        self._requested |= totals.keys()
        named = {**dict.fromkeys(self._requested, 0), **totals}
        none_local, no_hosts = self._scala_map({}), self._scala_map({})
        if not self._backend.requestTotalExecutors(self._scala_map(named), none_local, no_hosts):
            raise PlantError(f"the cluster manager did not take the request for executors (by profile): {dict(totals)}")
        self.last_request = dict(totals)

    def kill(self, executor_ids: Iterable[str], *, force: bool = False) -> frozenset[str]:
        """End the idle ones of these (with `force` all of them) without a change of the totals; returns who ends.

        The others are busy and stay, or are ending already.
        """
        seq = self._backend.killExecutors(self._scala_seq(executor_ids), False, False, force)
        killed = frozenset(seq.apply(index) for index in range(seq.size()))
        self._killed |= killed
        return killed

    def decommission(self, executor_ids: Iterable[str]) -> frozenset[str]:
        """Give no more tasks to these executors, for good. They live until they are killed."""
        info = self._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo
        none = getattr(getattr(self._jvm, "scala.None$"), "MODULE$")
        reason = info("taken out of its pool", none)
        return frozenset(
            each for each in executor_ids if self._backend.decommissionExecutor(each, reason, False, False)
        )

    def work_under_way(self) -> frozenset[str]:
        """The jobs and the batches under way in all sessions, by a name for each; a job that was submitted some
        milliseconds ago may be missing. The jobs of a batch follow each other, and one reads what those before it have
        computed."""
        jobs = frozenset(f"job {job}" for job in self._tracker.getActiveJobIds())
        return jobs | {name for query in _elements(self._queries) if (name := _batch_of(query)) is not None}

    def register(self, java_profile: Any) -> None:
        """Make a profile known before its first stage, so that executors can be asked for."""
        try:
            self._context.resourceProfileManager().addResourceProfile(java_profile)
        except Py4JError as error:
            raise PlantError(f"this Spark takes no pool of executors: {_reason(error)}") from error

    def _scala_map(self, values: Mapping[int, int]) -> Any:
        java = self._jvm.java.util.HashMap()
        for key, value in values.items():
            java.put(key, value)
        return self._jvm.PythonUtils.toScalaMap(java)

    def _scala_seq(self, values: Iterable[str]) -> Any:
        return self._jvm.PythonUtils.toSeq(list(values))


def _elements(java_map: Any) -> Iterator[Any]:
    """The values of a concurrent map. An iterator ends with an exception, and PySpark takes long to find out which
    one."""
    values = java_map.elements()
    while values.hasMoreElements():
        yield values.nextElement()


def _batch_of(query: Any) -> str | None:
    """The batch under way of a query, named by the report of the batch before it, which stays the last one until it has
    finished."""
    status = query.status()
    if not (status.isTriggerActive() and status.isDataAvailable()):
        return None
    report = query.lastProgress()
    return f"batch of {query.runId()} after {'none' if report is None else report.timestamp()}"


def _reason(error: Py4JError) -> str:
    java = getattr(error, "java_exception", None)
    return str(java.getMessage()) if java is not None else str(error)
