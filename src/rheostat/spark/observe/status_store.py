"""Status store: Spark's own records of executors, stages and tasks, read in bulk.

The driver keeps them for its web page and REST interface, also where both are switched off. Each question is one call
that answers with JSON, cut down in the JVM to the fields that are read here: many small calls would cost more than the
rest of the control loop.

What it shows is not equally new. Tasks are written as they start and end. Executors and stages are written on events,
at most every 100 ms; where a task starts right behind another, the start is written and the end of the other is not,
until something else happens. So what executors have done of a running stage is added up from its tasks. Of a stage with
very many tasks Spark's own sums are read, which may be late in the same way.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_MS = 1e-3
_MOST_TASKS = 10_000
_MOST_LISTED_TASKS = 500
"""Of a stage that runs: of one with more only those that run are looked up."""

_RUNNING = "RUNNING"
_DRIVER = "driver"
_API = "org.apache.spark.status.api.v1"
_LEFT_OUT = {
    "ExecutorSummary": ("executorLogs", "peakMemoryMetrics", "attributes", "resources", "memoryMetrics",
                        "blacklistedInStages", "excludedInStages"),
    "ExecutorStageSummary": ("peakMemoryMetrics",),
    "StageData": ("details", "rddIds", "accumulatorUpdates", "killedTasksSummary", "peakExecutorMetrics",
                  "executorSummary", "taskMetricsDistributions", "executorMetricsDistributions",
                  "speculationSummary"),
    "TaskData": ("accumulatorUpdates", "executorLogs", "host", "taskLocality", "errorMessage"),
    "ShuffleReadMetrics": ("shufflePushReadMetrics",),
}  # fmt: skip


class ExecutorSummary(msgspec.Struct, frozen=True, rename="camel"):
    """One executor; `total_duration` is the sum over all tasks that it has finished, in milliseconds."""

    id: str
    host_port: str
    is_active: bool = False
    profile: int = msgspec.field(default=0, name="resourceProfileId")
    slots: int = msgspec.field(default=0, name="maxTasks")
    total_duration: int = 0
    active_tasks: int = 0

    @property
    def host(self) -> str:
        return self.host_port.rpartition(":")[0]

    @property
    def task_s(self) -> float:
        """Seconds of its finished tasks, over all slots: this may exceed the time that has passed."""
        return self.total_duration * _MS


class ReadMetrics(msgspec.Struct, frozen=True, rename="camel"):
    """What one task read, from a source or a shuffle."""

    records_read: int = 0


class TaskMetrics(msgspec.Struct, frozen=True, rename="camel"):
    """The part of Spark's task metrics that is used; times are in milliseconds."""

    executor_run_time: int = 0
    input_metrics: ReadMetrics = ReadMetrics()
    shuffle_read_metrics: ReadMetrics = ReadMetrics()


class TaskData(msgspec.Struct, frozen=True, rename="camel"):
    """One attempt at one task; `duration` is from launch to end, in milliseconds."""

    index: int = 0
    partition_id: int = 0
    executor_id: str = ""
    status: str = ""
    launch_time: int = 0
    task_metrics: TaskMetrics | None = None
    duration: int | None = None

    def elapsed_s(self, now_s: float) -> float:
        """Seconds since its launch."""
        return max(0.0, now_s - self.launch_time * _MS)

    @property
    def succeeded(self) -> bool:
        return self.status == "SUCCESS"


class StageData(msgspec.Struct, frozen=True, rename="camel"):
    """One attempt at one stage."""

    stage_id: int = 0
    attempt_id: int = 0
    status: str = ""
    description: str = ""
    tasks: int = msgspec.field(default=0, name="numTasks")
    submission_time: int = 0

    @property
    def finished(self) -> bool:
        return self.status == "COMPLETE"


class StageShare(msgspec.Struct, frozen=True, rename="camel"):
    """What an executor has done of a stage: its tasks that have ended, their time in milliseconds, and the records that
    they have read from a source."""

    task_time: int = 0
    succeeded_tasks: int = 0
    input_records: int = 0

    @property
    def task_s(self) -> float:
        return self.task_time * _MS


def shares_of(ended: Iterable[TaskData]) -> dict[str, StageShare]:
    """What executors have done of a stage, from its tasks that have ended."""
    shares: dict[str, StageShare] = {}
    for task in ended:
        before = shares.get(task.executor_id, StageShare())
        read = task.task_metrics.input_metrics.records_read if task.task_metrics and task.succeeded else 0
        shares[task.executor_id] = StageShare(
            before.task_time + (task.duration or 0),
            before.succeeded_tasks + int(task.succeeded),
            before.input_records + read,
        )
    return shares


class ActiveStage(NamedTuple):
    """A stage that is not finished: its tasks that run, and what executors have finished, by their ids."""

    stage: StageData
    running: tuple[TaskData, ...]
    shares: Mapping[str, StageShare]


class StatusStore:
    """The status store of one application. With `driver_serves` the driver is an executor, as on a local master."""

    def __init__(self, spark: SparkSession, *, driver_serves: bool = False) -> None:
        jvm: Any = spark.sparkContext._jvm
        context: Any = spark.sparkContext._jsc.sc()
        gateway: Any = spark.sparkContext._gateway
        self._driver_serves = driver_serves
        self._store = context.statusStore()
        self._scheduler = context.dagScheduler()
        self._to_json = _mapper(jvm, gateway).writeValueAsString
        self._none = getattr(getattr(jvm, "scala.None$"), "MODULE$")
        self._running = jvm.java.util.ArrayList()
        self._running.add(getattr(jvm, f"{_API}.TaskStatus").RUNNING)

    def executors(self) -> list[ExecutorSummary]:
        """The executors that live, oldest first."""
        listed = _decode_executors(self._to_json(self._store.executorList(True)))
        if self._driver_serves:
            return listed
        return sorted((each for each in listed if each.id != _DRIVER), key=lambda each: int(each.id))

    def active_stages(self) -> list[ActiveStage]:
        """Stages that are submitted and not finished."""
        stages = _decode_stages(self._to_json(self._store.activeStages()))
        return [self._active(stage) for stage in stages]

    def shares(self, stage: StageData) -> dict[str, StageShare]:
        """What executors have done of a stage; nothing if Spark does not know it any more."""
        return _decode_shares(self._to_json(self._store.executorSummary(stage.stage_id, stage.attempt_id)))

    def _active(self, stage: StageData) -> ActiveStage:
        if stage.tasks > _MOST_LISTED_TASKS:
            return ActiveStage(stage, self._running_tasks(stage), self.shares(stage))
        tasks = self.tasks(stage)
        running = tuple(task for task in tasks if task.status == _RUNNING)
        return ActiveStage(stage, running, shares_of(task for task in tasks if task.status != _RUNNING))

    def _running_tasks(self, stage: StageData) -> tuple[TaskData, ...]:
        question = (stage.stage_id, stage.attempt_id, 0, _MOST_TASKS, self._none, True, self._running)
        return tuple(_decode_tasks(self._to_json(self._store.taskList(*question))))

    def next_stage_id(self) -> int:
        """The number that the next stage will get."""
        return int(self._scheduler.nextStageId())

    def stage(self, stage_id: int) -> StageData | None:
        """The last attempt at a stage; None if Spark does not know it, yet or any more."""
        try:
            return _decode_stage(self._to_json(self._store.lastStageAttempt(stage_id)))
        except Py4JJavaError:
            return None

    def tasks(self, stage: StageData) -> list[TaskData]:
        """All tasks of one attempt at a stage."""
        return _decode_tasks(self._to_json(self._store.taskList(stage.stage_id, stage.attempt_id, _MOST_TASKS)))


_decode_executors = msgspec.json.Decoder(list[ExecutorSummary]).decode
_decode_shares = msgspec.json.Decoder(dict[str, StageShare]).decode
_decode_stage = msgspec.json.Decoder(StageData).decode
_decode_stages = msgspec.json.Decoder(list[StageData]).decode
_decode_tasks = msgspec.json.Decoder(list[TaskData]).decode


def _mapper(jvm: Any, gateway: Any) -> Any:
    """Writes Spark's objects as JSON: dates as milliseconds, without fields that are zero or not read here."""
    jackson = jvm.com.fasterxml.jackson
    mapper = jackson.databind.ObjectMapper()
    mapper.registerModule(getattr(getattr(jvm, "com.fasterxml.jackson.module.scala.DefaultScalaModule$"), "MODULE$"))
    mapper.setSerializationInclusion(getattr(jvm, "com.fasterxml.jackson.annotation.JsonInclude$Include").NON_DEFAULT)
    ignorals = getattr(jvm, "com.fasterxml.jackson.annotation.JsonIgnoreProperties$Value")
    for name, fields in _LEFT_OUT.items():
        names = gateway.new_array(jvm.java.lang.String, len(fields))
        for index, field in enumerate(fields):
            names[index] = field
        override = mapper.configOverride(jvm.java.lang.Class.forName(f"{_API}.{name}"))
        override.setIgnorals(ignorals.forIgnoredProperties(names))
    return mapper
