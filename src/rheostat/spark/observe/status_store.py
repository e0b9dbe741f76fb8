"""Spark's own bookkeeping of executors, stages and tasks, read in bulk.

The driver keeps it for its web page and REST interface, also where both are switched off. Each question is one
call that answers with JSON, cut down in the JVM to the fields that are read here: many small calls would cost
more than all the rest of the control loop.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_MS = 1e-3
_MOST_TASKS = 10_000
_DRIVER = "driver"
_API = "org.apache.spark.status.api.v1"
_LEFT_OUT = {
    "ExecutorSummary": ("executorLogs", "peakMemoryMetrics", "attributes", "resources", "memoryMetrics",
                        "blacklistedInStages", "excludedInStages"),
    "StageData": ("details", "rddIds", "accumulatorUpdates", "killedTasksSummary", "peakExecutorMetrics",
                  "executorSummary", "taskMetricsDistributions", "executorMetricsDistributions",
                  "speculationSummary"),
    "TaskData": ("accumulatorUpdates", "executorLogs", "host", "taskLocality", "errorMessage"),
    "ShuffleReadMetrics": ("shufflePushReadMetrics",),
}  # fmt: skip


class ExecutorFigures(msgspec.Struct, frozen=True, rename="camel"):
    """One executor since it started; `total_duration` are the milliseconds of all its finished tasks."""

    id: str
    host_port: str
    is_active: bool = False
    profile: int = msgspec.field(default=0, name="resourceProfileId")
    slots: int = msgspec.field(default=0, name="maxTasks")
    active_tasks: int = 0
    failed_tasks: int = 0
    total_duration: int = 0

    @property
    def host(self) -> str:
        return self.host_port.rpartition(":")[0]

    @property
    def task_s(self) -> float:
        """Seconds of its finished tasks; slots run side by side, so they may exceed the time passed."""
        return self.total_duration * _MS


class ReadMetrics(msgspec.Struct, frozen=True, rename="camel"):
    """What one task read, from a source or a shuffle."""

    records_read: int = 0
    bytes_read: int = 0
    remote_bytes_read: int = 0
    local_bytes_read: int = 0


class TaskMetrics(msgspec.Struct, frozen=True, rename="camel"):
    """The part of Spark's task metrics that is used: milliseconds, and nanoseconds of processor time."""

    executor_run_time: int = 0
    executor_cpu_time: int = 0
    input_metrics: ReadMetrics = ReadMetrics()
    shuffle_read_metrics: ReadMetrics = ReadMetrics()


class TaskFigures(msgspec.Struct, frozen=True, rename="camel"):
    """One attempt at one task."""

    index: int = 0
    partition_id: int = 0
    executor_id: str = ""
    status: str = ""
    launch_time: int = 0
    task_metrics: TaskMetrics | None = None
    duration: int | None = None

    @property
    def succeeded(self) -> bool:
        return self.status == "SUCCESS"


class StageFigures(msgspec.Struct, frozen=True, rename="camel"):
    """One attempt at one stage."""

    stage_id: int = 0
    attempt_id: int = 0
    status: str = ""
    description: str = ""
    num_tasks: int = 0

    @property
    def finished(self) -> bool:
        return self.status == "COMPLETE"


class StatusStore:
    """The bookkeeping of one application."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark.sparkContext._jvm
        context: Any = spark.sparkContext._jsc.sc()
        gateway: Any = spark.sparkContext._gateway
        self._store = context.statusStore()
        self._scheduler = context.dagScheduler()
        self._to_json = _mapper(jvm, gateway).writeValueAsString
        self._none = getattr(getattr(jvm, "scala.None$"), "MODULE$")
        self._running = jvm.java.util.ArrayList()
        self._running.add(getattr(jvm, f"{_API}.TaskStatus").RUNNING)

    def executors(self) -> list[ExecutorFigures]:
        """Those that live, oldest first."""
        listed = _decode_executors(self._to_json(self._store.executorList(True)))
        return sorted((each for each in listed if each.id != _DRIVER), key=lambda each: int(each.id))

    def running_tasks(self) -> list[TaskFigures]:
        """Tasks under way, of all stages."""
        stages = _decode_stages(self._to_json(self._store.activeStages()))
        return [task for stage in stages for task in self._running_of(stage)]

    def newest_stage(self) -> int:
        """The number that the next stage will get."""
        return int(self._scheduler.nextStageId())

    def stage(self, stage_id: int) -> StageFigures | None:
        """The last attempt at a stage; None if Spark does not know it (any more, or yet)."""
        try:
            return _decode_stage(self._to_json(self._store.lastStageAttempt(stage_id)))
        except Py4JJavaError:
            return None

    def tasks(self, stage: StageFigures) -> list[TaskFigures]:
        """All tasks of one attempt at a stage."""
        return _decode_tasks(self._to_json(self._store.taskList(stage.stage_id, stage.attempt_id, _MOST_TASKS)))

    def _running_of(self, stage: StageFigures) -> Iterable[TaskFigures]:
        question = (stage.stage_id, stage.attempt_id, 0, _MOST_TASKS, self._none, True, self._running)
        return _decode_tasks(self._to_json(self._store.taskList(*question)))


_decode_executors = msgspec.json.Decoder(list[ExecutorFigures]).decode
_decode_stage = msgspec.json.Decoder(StageFigures).decode
_decode_stages = msgspec.json.Decoder(list[StageFigures]).decode
_decode_tasks = msgspec.json.Decoder(list[TaskFigures]).decode


def _mapper(jvm: Any, gateway: Any) -> Any:
    """Spark's objects as JSON: dates as milliseconds, without what is zero or not read here."""
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
