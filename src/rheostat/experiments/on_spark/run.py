"""Run on Spark: one scenario under one policy on an embedded Spark cluster, with the figures of a comparison."""

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from rheostat.duration import human, seconds
from rheostat.errors import ConfigError, PlantError
from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.needed_executors import peak_sizes
from rheostat.experiments.on_spark.paid_executors import PaidExecutors
from rheostat.experiments.on_spark.record_figures import RecordFigures
from rheostat.experiments.on_spark.record_log import RecordLog
from rheostat.experiments.on_spark.refusals import check_scenario
from rheostat.experiments.on_spark.run_figures import run_figures
from rheostat.experiments.on_spark.runs import (
    DynamicAllocationRun,
    PlainRun,
    PoolRun,
    Setup,
    SparkRun,
    most_executors,
)
from rheostat.experiments.on_spark.shared_cluster import cluster_for_a_run
from rheostat.experiments.on_spark.translation import SparkScenario
from rheostat.experiments.scenario import Scenario
from rheostat.names import OperatorName
from rheostat.policies.registry import make_options, make_policy, policy_class
from rheostat.policies.spark_dra import SparkDraOptions
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.spark.session import Setting
from rheostat.spark.target import FAST_START_SETTINGS, SparkTarget

DYNAMIC_ALLOCATION = "spark-dra"
STATIC = "static"
PEAK_UTILISATION = 0.6
"""Of executors that are provisioned for the peak. Micro-batches take a part of the time for themselves."""

RUN_SETTINGS = FAST_START_SETTINGS | {"spark.executor.memory": "512m"}
_WARM_UP_RATE = 5.0
_WARM_UP_S = 20.0
_FIRST_RESULTS_TIMEOUT_S = 180.0
_STEP_S = 0.5
_DRAIN_TIMEOUT_S = 20.0

Progress = Callable[[float], None]
"""Called with the seconds of the load that have passed."""


def run_on_spark(
    scenario: Scenario,
    policy: str | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    setting: str = "default",
    seed: int = 0,
    cluster: EmbeddedCluster | None = None,
    progress: Progress | None = None,
    log: RecordLog | None = None,
) -> ComparedRun:
    """Run `scenario` under `policy` (by default its own) on `cluster` and return the figures.

    Without a cluster it runs on the shared one, or else on one of its own.

    `spark-dra` is Spark's own dynamic allocation. `static` without options has the executors that the peak needs.
    A scenario that asks for what Spark cannot do is refused before anything starts. `log` is filled with the times of
    all records and their results.
    """
    name = policy or scenario.policy
    chosen = dict(options) if options is not None else (scenario.policy_options if name == scenario.policy else {})
    check_run(scenario, name, chosen)
    with ExitStack() as stack:
        nodes = cluster or stack.enter_context(cluster_for_a_run())
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="rheostat-run-", ignore_cleanup_errors=True))
        )
        log = RecordLog() if log is None else log
        setup = Setup(
            scenario=scenario,
            on_spark=SparkScenario(scenario, folder, log, seed),
            log=log,
            folder=folder,
            policy=name,
            options={} if name == STATIC else chosen,
            executors=starting_sizes(scenario, name, chosen),
            tasks=_dynamic_allocation(chosen).partitions if name == DYNAMIC_ALLOCATION else None,
        )
        spark = stack.enter_context(_session(nodes, setup, name, chosen))
        paid = stack.enter_context(PaidExecutors(nodes, str(spark.sparkContext.applicationId)))
        run = _run_type(scenario, name)(setup, spark)
        stack.callback(run.stop)
        _warm_up(run)
        start_s = _feed(run, progress)
        _drain(run)
    _check_observed(run)
    records = RecordFigures(log.entered_s, log.completed_s(start_s), scenario.duration_s, scenario.goal.end_to_end)
    paid_s = paid.executor_seconds(start_s, start_s + scenario.duration_s)
    figures = run_figures(scenario, records, run.turns, start_s, paid_s)
    return ComparedRun(
        scenario=scenario.name, policy=name, setting=setting, plant="spark", seed=seed, lost=log.lost(), **figures
    )


def _check_observed(run: SparkRun) -> None:
    """A policy that saw nothing decided nothing: its figures would be those of no policy."""
    if not any(turn.snapshot is not None for turn in run.turns):
        problems = [problem.what for turn in run.turns[-1:] for problem in turn.problems]
        raise PlantError(
            f"nothing was observed while {run.setup.scenario.name!r} ran: {'; '.join(problems) or 'no turn'}"
        )


def check_run(scenario: Scenario, policy: str, options: Mapping[str, Any]) -> None:
    """Refuse a policy, options or a scenario that cannot run on Spark."""
    check_scenario(scenario, plain=scenario.attach or policy == DYNAMIC_ALLOCATION)
    make_policy(policy, scenario.goal, options)
    if policy == DYNAMIC_ALLOCATION and _dynamic_allocation(options).slots != 1:
        raise ConfigError(f"slots {_dynamic_allocation(options).slots}: executors have 1 slot on Spark, leave it out")


def starting_sizes(scenario: Scenario, policy: str, options: Mapping[str, Any]) -> dict[str, int]:
    """The executors at the start, by operator: the scenario's; with `static` those of its options or of the peak."""
    model = scenario.model
    sizes: dict[str, int] = {name: model.operator(name).executors for name in model.topology.operators}
    if policy == STATIC:
        given = options.get("executors")
        if isinstance(given, int):
            sizes = dict.fromkeys(sizes, given)
        elif given is not None:
            sizes |= given
        else:
            peak = peak_sizes(model, scenario.duration_s, PEAK_UTILISATION)
            sizes = {name: peak[OperatorName(name)] for name in sizes}
    while sum(sizes.values()) > max(len(sizes), most_executors(scenario)):
        sizes[max(sizes, key=lambda name: sizes[name])] -= 1
    return sizes


def _run_type(scenario: Scenario, policy: str) -> type[SparkRun]:
    if policy == DYNAMIC_ALLOCATION:
        return DynamicAllocationRun
    return PlainRun if scenario.attach else PoolRun


@contextmanager
def _session(cluster: EmbeddedCluster, setup: Setup, policy: str, options: Mapping[str, Any]) -> Iterator[SparkSession]:
    settings: dict[str, Setting] = dict(RUN_SETTINGS)
    if policy == DYNAMIC_ALLOCATION or setup.scenario.attach:
        settings |= setup.plain_settings()
    if policy == DYNAMIC_ALLOCATION:
        settings |= _allocation_settings(_dynamic_allocation(options))
    target = SparkTarget(cluster=cluster, settings=settings)
    with ExitStack() as stack:
        with spark_output_to(cluster.logs / "driver.log"):
            spark = stack.enter_context(target.open(setup.scenario.name))
        stack.enter_context(_warnings_to(cluster.logs / "rheostat.log"))
        yield spark


@contextmanager
def _warnings_to(file: Path) -> Iterator[None]:
    """Warnings of the control loop, which many runs in a row repeat, go to `file` within the block."""
    logger, handler = logging.getLogger("rheostat"), logging.FileHandler(file)
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
        handler.close()


def _dynamic_allocation(options: Mapping[str, Any]) -> SparkDraOptions:
    made = make_options(policy_class(DYNAMIC_ALLOCATION), options)
    assert isinstance(made, SparkDraOptions)
    return made


def _allocation_settings(options: SparkDraOptions) -> dict[str, Setting]:
    """The options of the simulator's `spark-dra` as Spark's own settings."""
    backlog_s, idle_s = seconds(options.backlog_timeout), seconds(options.idle_timeout)
    sustained_s = backlog_s if options.sustained_timeout is None else seconds(options.sustained_timeout)
    settings: dict[str, Setting] = {
        "schedulerBacklogTimeout": f"{1000 * backlog_s:.0f}ms",
        "sustainedSchedulerBacklogTimeout": f"{1000 * sustained_s:.0f}ms",
        "executorIdleTimeout": f"{1000 * idle_s:.0f}ms",
        "executorAllocationRatio": options.ratio,
    }
    return {f"spark.dynamicAllocation.{name}": value for name, value in settings.items()}


def _warm_up(run: SparkRun) -> None:
    """Feed a few records until there are results and all executors are there, and then as many as at the start of the
    load: a policy that had measured less would begin by scaling in, which none does on the simulator."""
    setup, end_s = run.setup, time.monotonic() + _FIRST_RESULTS_TIMEOUT_S
    with ExitStack() as feeding:
        for feeder in setup.on_spark.trickle(_WARM_UP_RATE):
            feeding.enter_context(feeder)
        while not (setup.log.has_results(setup.on_spark.results) and run.is_ready):
            if time.monotonic() > end_s:
                raise PlantError(f"{setup.scenario.name!r}: no results within {human(_FIRST_RESULTS_TIMEOUT_S)}")
            run.wait(_STEP_S)
    with ExitStack() as feeding:
        for feeder in setup.on_spark.trickle():
            feeding.enter_context(feeder)
        run.wait(_WARM_UP_S)


def _feed(run: SparkRun, progress: Progress | None) -> float:
    """Feed the load of the scenario while the policy acts; returns the time at which the load started."""
    setup = run.setup
    with ExitStack() as feeding:
        run.let_act()
        feeders = setup.on_spark.feeders()
        for feeder in feeders:
            feeding.enter_context(feeder)
        start_s = feeders[0].started_s
        setup.on_spark.note_start(start_s)
        while (passed_s := time.time() - start_s) < setup.scenario.duration_s:
            if progress is not None:
                progress(passed_s)
            run.wait(min(_STEP_S, setup.scenario.duration_s - passed_s))
    if progress is not None:
        progress(setup.scenario.duration_s)
    return start_s


def _drain(run: SparkRun) -> None:
    """Wait for the rest of the results, but not for ever: a run that is far behind keeps its backlog."""
    end_s = time.monotonic() + _DRAIN_TIMEOUT_S
    while time.monotonic() < end_s and np.isnan(run.setup.log.completed_s(0.0)).any():
        run.wait(_STEP_S)
