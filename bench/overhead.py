"""Overhead benchmark: processor time of the control loop on Spark.

Run with `python -m bench.overhead`. The aim: at most 2 % of a core with 4 operators and 8 executors at a period of 1 s.
It counts the processor time of the control thread, in Python and in the JVM thread that answers it, over whole turns:
observe, decide, journal. On a busy machine a turn takes longer by the clock, which costs nothing.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.plan import Plan
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Goal
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import nodes_alike
from rheostat.spark.plant import SparkPlant
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.session import build_session
from rheostat.spark.wiring import topology_plant
from rheostat.topology import Operator, Source, Topology

SETTLE_TIMEOUT_S = 600.0


def chain(operators: int, rate: int) -> Topology:
    """A chain of operators, the second one keyed."""

    def rows(spark: SparkSession) -> DataFrame:
        return spark.readStream.format("rate").option("rowsPerSecond", rate).option("numPartitions", 2).load()

    def more(df: DataFrame) -> DataFrame:
        return df.select((col("value") + 1).alias("value"))

    def counted(df: DataFrame) -> DataFrame:
        return df.groupBy((col("value") % 100).alias("value")).count().select("value")

    names = ["rows", *(f"op{number}" for number in range(operators))]
    parts = [
        Operator(name, counted, inputs=before, key="value", substreams=4)
        if number == 1
        else Operator(name, more, inputs=before)
        for number, (before, name) in enumerate(pairwise(names))
    ]
    return Topology("line", [Source("rows", reader=rows), *parts])


def turns(controller: Controller, jvm: Any, count: int, period_s: float) -> Iterator[tuple[float, float, float]]:
    """Processor time in Python and in the JVM, and elapsed time of each turn, in seconds."""
    threads = jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    for _ in range(count):
        start_s, python_s, jvm_ns = time.monotonic(), time.thread_time(), threads.getCurrentThreadCpuTime()
        controller.turn()
        python_s, jvm_ns = time.thread_time() - python_s, threads.getCurrentThreadCpuTime() - jvm_ns
        took_s = time.monotonic() - start_s
        yield python_s, jvm_ns * 1e-9, took_s
        time.sleep(max(0.0, period_s - took_s))


def measure(operators: int, executors: int, count: int, period_s: float, folder: Path) -> None:
    topology = chain(operators, rate=200)
    plan = Plan.initial(topology, max(1, executors // operators))
    nodes = nodes_alike(2, cores=executors // 2 + 1, memory="16g")
    with EmbeddedCluster(nodes, directory=folder / "cluster") as cluster:
        settings = {"spark.executor.cores": 1, "spark.executor.memory": "512m", "spark.default.parallelism": 2}
        spark = build_session("overhead", cluster=cluster, settings=settings)
        directory = RunDirectory(folder / "run", topology)
        try:
            with topology_plant(spark, topology, plan, directory) as running, Journal(folder / "journal.db") as journal:
                plant = running.plant
                goal = Goal(topology, (SLA("5s", "30s"),))
                policy = make_policy("static", goal)
                controller = Controller(plant, policy, goal, journal, LoopOptions(period_s), plan=plan)
                _settle(controller, plant, plan, topology, period_s)
                _print(list(turns(controller, spark.sparkContext._jvm, count, period_s)), period_s)
        finally:
            spark.stop()


def _settle(controller: Controller, plant: SparkPlant, plan: Plan, topology: Topology, period_s: float) -> None:
    """Wait until all executors are active and warm: each operator has completed some batches."""
    deadline_s = time.monotonic() + SETTLE_TIMEOUT_S
    while time.monotonic() < deadline_s:
        snapshot = controller.turn().snapshot
        batches = [] if snapshot is None else [state.batch.count for state in snapshot.operator_states if state.batch]
        if plant.reached(plan) == plan.pools.keys() and min(batches, default=0) >= 5:
            return
        time.sleep(period_s)
    raise SystemExit(f"error: the pipeline did not settle within {SETTLE_TIMEOUT_S:.0f} s")


def _print(costs: list[tuple[float, float, float]], period_s: float) -> None:
    python_s, jvm_s, took_s = (sum(column) / len(costs) for column in zip(*costs, strict=True))
    print(f"{len(costs)} turns, one every {period_s:g} s")
    print(f"{'':24}{'ms per turn':>12}{'of a core':>12}")
    for what, cost_s in (("Python", python_s), ("JVM", jvm_s), ("total", python_s + jvm_s)):
        print(f"{what:24}{cost_s * 1e3:12.2f}{cost_s / period_s:12.2%}")
    print(f"{'elapsed':24}{took_s * 1e3:12.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", type=int, default=4)
    parser.add_argument("--executors", type=int, default=8)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--period", type=float, default=1.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments.operators, arguments.executors, arguments.turns, arguments.period, Path(folder))


if __name__ == "__main__":
    main()
