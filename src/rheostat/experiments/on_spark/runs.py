"""Runs: a scenario in a Spark session, under a policy of Rheostat's or under Spark's own dynamic allocation.

A scenario runs as `rheostat.start` runs a topology, each operator with executors of its own, or as one plain Structured
Streaming query on executors that it has for itself: under `rheostat.attach`, or left to Spark's dynamic allocation.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rheostat.attachment import Attachment, attach
from rheostat.decision import Scale
from rheostat.errors import PlantError
from rheostat.experiments.on_spark.record_log import RecordLog
from rheostat.experiments.on_spark.shared_cluster import CLUSTER_SLOTS
from rheostat.experiments.on_spark.translation import SparkScenario, counting, waiting
from rheostat.experiments.scenario import Scenario
from rheostat.loop.turn import Ruling, Turn, Verdict
from rheostat.names import PoolName
from rheostat.pipeline import Pipeline, start
from rheostat.plan import Plan
from rheostat.spark.act.cluster_view import RESERVED_EXECUTORS
from rheostat.spark.attach import OPERATOR
from rheostat.spark.observe.status_store import StatusStore
from rheostat.spark.query.failure import reason_of
from rheostat.spark.query.per_record.record_stage import record_stage
from rheostat.spark.query.per_record.timings import Stopwatch
from rheostat.stop_signals import jobs_survive_interrupt, raised_stop_signals

TASKS_PER_EXECUTOR = 2
"""Tasks of a plain query for each executor that the budget allows: as a topic has more partitions than readers."""


@dataclass(frozen=True)
class Setup:
    """What a run is made of. `executors` are those at the start, by operator."""

    scenario: Scenario
    on_spark: SparkScenario
    log: RecordLog
    folder: Path
    policy: str
    options: Mapping[str, Any]
    executors: Mapping[str, int]
    tasks: int | None = None

    @property
    def plain_tasks(self) -> int:
        """The tasks of a stateless operator in a plain query: `tasks`, or as the first operator's `batches` say."""
        model = self.scenario.model
        first = model.operator(next(iter(model.topology.operators)))
        return self.tasks or first.batches.tasks or TASKS_PER_EXECUTOR * most_executors(self.scenario)

    def plain_settings(self) -> dict[str, Any]:
        """The settings of a session for a plain query."""
        operators = self.scenario.model.topology.operators.values()
        keyed = [operator.substream_count for operator in operators if operator.keyed]
        return {
            "spark.sql.shuffle.partitions": keyed[0] if keyed else self.plain_tasks,
            "spark.dynamicAllocation.minExecutors": least_executors(self.scenario),
            "spark.dynamicAllocation.initialExecutors": sum(self.executors.values()),
            "spark.dynamicAllocation.maxExecutors": most_executors(self.scenario),
        }


class SparkRun(ABC):
    """A scenario that runs in a session until `stop`. Before `let_act` the number of executors stays as it is.

    `turns` are the turns of the control loop since then.
    """

    def __init__(self, setup: Setup, spark: SparkSession) -> None:
        self.turns: list[Turn] = []
        self.setup, self.spark = setup, spark

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the executors are there with which it starts."""

    @abstractmethod
    def let_act(self) -> None:
        """Let the policy, or Spark, change the number of executors from now on."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Wait; raises the error if a query fails."""

    @abstractmethod
    def stop(self) -> None:
        """End the queries and the loop."""


class PoolRun(SparkRun):
    """Each operator is a query with a pool of executors of its own."""

    def __init__(self, setup: Setup, spark: SparkSession) -> None:
        super().__init__(setup, spark)
        scenario, topology = setup.scenario, setup.on_spark.topology
        budget, model = scenario.goal.budget, scenario.model
        standby: dict[str, int] = {name: model.operator(name).standby for name in topology.operators}
        self._pipeline: Pipeline = start(
            topology,
            sla=scenario.goal.slas,
            policy=setup.policy,
            options=setup.options,
            budget=replace(budget, total=budget.total and budget.total + RESERVED_EXECUTORS),
            plan=Plan.initial(topology, setup.executors, standby=standby),
            directory=setup.folder / "run",
            sinks={name: setup.log.sink(name) for name in setup.on_spark.results},
            on=spark,
            loop=scenario.loop,
            listeners=[self.turns.append],
        )
        self._pipeline.controller.pause()

    @property
    def is_ready(self) -> bool:
        return self._pipeline.plant.reached(self._pipeline.plan) == self._pipeline.plan.pools.keys()

    def let_act(self) -> None:
        self.turns.clear()
        self._pipeline.controller.resume()

    def wait(self, seconds: float) -> None:
        if self._pipeline.wait(seconds):
            raise PlantError(f"topology {self.setup.scenario.name!r} was stopped before the run ended")

    def stop(self) -> None:
        self._pipeline.stop()


class PlainRun(SparkRun):
    """One query under an attachment."""

    def __init__(self, setup: Setup, spark: SparkSession) -> None:
        super().__init__(setup, spark)
        with ExitStack() as undo:
            undo.enter_context(jobs_survive_interrupt())
            self._attachment = self._attach(setup.policy, setup.options)
            undo.callback(lambda: self._attachment.detach())
            self._attachment.pause()
            self._query = plain_query(setup, spark)
            undo.callback(self._query.stop)
            self._closing = undo.pop_all()

    @property
    def is_ready(self) -> bool:
        return len(StatusStore(self.spark).executors()) >= sum(self.setup.executors.values())

    def let_act(self) -> None:
        self.turns.clear()
        self._attachment.resume()

    def wait(self, seconds: float) -> None:
        with raised_stop_signals():
            time.sleep(seconds)
        if not self._query.isActive:
            raise PlantError(f"the query of {self.setup.scenario.name!r} ended before the run: {_cause(self._query)}")

    def stop(self) -> None:
        self._closing.close()

    def _attach(self, policy: str, options: Mapping[str, Any], *, dry_run: bool = False) -> Attachment:
        scenario = self.setup.scenario
        assert scenario.goal.end_to_end is not None
        return attach(
            self.spark,
            scenario.goal.end_to_end,
            policy,
            min_executors=least_executors(scenario),
            max_executors=most_executors(scenario),
            period=scenario.loop.period_s,
            cooldown=scenario.loop.cooldown_s,
            dry_run=dry_run,
            options=options,
            listeners=[self._note],
        )

    def _note(self, turn: Turn) -> None:
        self.turns.append(turn)


class DynamicAllocationRun(PlainRun):
    """One query whose executors Spark allocates. An attachment keeps them as they are until then, and only watches
    afterwards."""

    def __init__(self, setup: Setup, spark: SparkSession) -> None:
        super().__init__(replace(setup, policy="static", options={}), spark)

    def let_act(self) -> None:
        self._attachment.detach()
        self.turns.clear()
        self._attachment = self._attach("static", {}, dry_run=True)

    def _note(self, turn: Turn) -> None:
        self.turns.append(_as_action(self.turns[-1].plan, turn) if self.turns else turn)


def _as_action(before: Plan, turn: Turn) -> Turn:
    """The turn in which it was seen that Spark has changed the number of executors, as if it had been decided there."""
    size = turn.plan.size(OPERATOR)
    if size == before.size(OPERATOR):
        return turn
    decision = Scale(pool=PoolName(OPERATOR), executors=size, reason="Spark's dynamic allocation")
    return msgspec.structs.replace(turn, before=before, verdicts=(Verdict(decision, Ruling.ACCEPTED),))


def _cause(query: StreamingQuery) -> str:
    error = query.exception()
    return "it was stopped" if error is None else reason_of(error)


def plain_query(setup: Setup, spark: SparkSession) -> StreamingQuery:
    """The whole topology of a scenario, which is a chain, as one Structured Streaming query."""
    on_spark = setup.on_spark
    (source,) = on_spark.topology.sources
    df = on_spark.reader(source)(spark)
    last = source
    while readers := on_spark.topology.out_of(last):
        name = readers[0].consumer
        operator, wait = on_spark.topology.operators[name], on_spark.wait(name)
        if operator.keyed:
            df = counting(wait)(df)
        else:
            spread = df.repartition(setup.plain_tasks) if last == source else df
            df = record_stage(spread, name, waiting(wait), Stopwatch(spark.sparkContext))
        last = name
    writer = df.writeStream.queryName(last).outputMode("update").foreachBatch(setup.log.sink(last))
    return writer.option("checkpointLocation", str(setup.folder / "checkpoint")).start()


def most_executors(scenario: Scenario) -> int:
    """As the budget allows; without a total as many as the cluster has slots."""
    return scenario.goal.budget.total or CLUSTER_SLOTS


def least_executors(scenario: Scenario) -> int:
    return sum(scenario.goal.budget.minimum(name) for name in scenario.model.topology.operators)
