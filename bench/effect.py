"""Effect benchmark: time from a decision to its effect on Spark.

Run with `python -m bench.effect`. A keyed count runs in a pool of an embedded cluster. Each change is timed from the
call of the plant: until it is applied (the next stage follows it), and until the first batch under it has finished. A
move and the activation of a standby executor should take one or two batches on any machine; a new executor takes as
long as Spark needs to start a process and warm it up.
"""

import argparse
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rheostat.clock import WallClock
from rheostat.decision import Decision, Move, Scale, Transfer
from rheostat.plan import Plan
from rheostat.spark.act.execute import Execution
from rheostat.spark.act.executor_pools import ProfilePools
from rheostat.spark.act.reconciler import Reconciler
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.spark.session import build_session
from rheostat.spark.state.spark_state import SparkState
from rheostat.spark.state.stage_placement import StagePlacement
from rheostat.topology import Operator, Source, Topology

SUBSTREAMS = 4
TOPOLOGY = Topology("count", [Source("rows"), Operator("count", inputs="rows", key="value", substreams=SUBSTREAMS)])
EFFECT_TIMEOUT_S = 600.0


@dataclass
class Trial:
    """A pool with its query and its plan."""

    state: SparkState
    reconciler: Reconciler
    query: StreamingQuery
    plan: Plan

    def time(self, what: str, decision: Decision) -> None:
        """Print how long `decision` takes."""
        start_s, first_batch = time.monotonic(), self._batch()
        self.plan = self.plan.after(decision)
        self.reconciler.follow(self.plan)
        self._print_when_effective(what, start_s, first_batch)

    def time_loss(self, app_id: str) -> None:
        """Print how long it takes to replace a killed executor."""
        start_s, first_batch = time.monotonic(), self._batch()
        victim = next(member.executor for member in self.state.book.members() if member.executor is not None)
        kill(app_id, victim.id)
        await_(lambda: self._batch() > first_batch)
        print(f"{'loss: running batch':24} {'':11} {time.monotonic() - start_s:9.2f} s", flush=True)
        await_(lambda: all(member.executor != victim for member in self.state.book.members()))
        self._print_when_effective("loss: replaced", start_s, first_batch)

    def _print_when_effective(self, what: str, start_s: float, first_batch: int) -> None:
        await_(lambda: "count" in self.reconciler.reached(self.plan))
        applied_s, batch = time.monotonic() - start_s, self._batch()
        # The running batch may have started before the change; the next one has not.
        await_(lambda: self._batch() >= batch + 2)
        effect_s = time.monotonic() - start_s
        print(f"{what:24} {applied_s:9.2f} s {effect_s:9.2f} s {self._batch() - first_batch:7d} batches", flush=True)
        await_(lambda: self.state.book.is_settled)

    def present(self) -> int:
        """Executors that Spark has, standbys among them."""
        return sum(member.executor is not None for member in self.state.book.members())

    def batch_s(self) -> float:
        """The median duration of the last batches."""
        durations = sorted(progress["batchDuration"] for progress in self.query.recentProgress[-20:])
        return float(durations[len(durations) // 2]) / 1000

    def _batch(self) -> int:
        progress = self.query.lastProgress
        return -1 if progress is None else int(progress["batchId"])


def await_(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + EFFECT_TIMEOUT_S
    while not condition():
        if time.monotonic() > end_s:
            raise TimeoutError(f"no effect after {EFFECT_TIMEOUT_S:.0f} s")
        time.sleep(0.01)


def kill(app_id: str, executor_id: str) -> None:
    """Kill an executor on this machine with SIGKILL."""
    wanted = {"--app-id": app_id, "--executor-id": executor_id}
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            arguments = dict(pairwise(file.read_bytes().decode(errors="replace").split("\0")))
            if wanted.items() <= arguments.items():
                os.kill(int(file.parent.name), signal.SIGKILL)


def start_query(spark: SparkSession, placement: StagePlacement, folder: Path) -> StreamingQuery:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1000).option("numPartitions", 1)
    rows = placement.place("count", source.load().selectExpr("value % 100 AS value"))
    counts = placement.place("count", rows.groupBy("value").count())
    writer = counts.writeStream.format("noop").outputMode("update")
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def run(spark: SparkSession, folder: Path) -> None:
    plan = Plan.initial(TOPOLOGY, 2, standby={"count": 1})
    with closing(ProfilePools(spark, TOPOLOGY, plan, reserved=0, directory=str(folder))) as pools:
        state = SparkState(pools.book, pools.placement)
        query = start_query(spark, pools.placement, folder)
        execution = Execution(pools.executor_actuators())
        reconciler = Reconciler(state, pools, execution, pools.rules, WallClock(), plan)
        reconciler.start()
        try:
            trial = Trial(state, reconciler, query, plan)
            await_(lambda: state.book.is_settled and query.lastProgress is not None)
            measure(trial, spark.sparkContext.applicationId)
        finally:
            query.stop()
            reconciler.stop()


def measure(trial: Trial, app_id: str) -> None:
    print(f"{'decision':24} {'applied':>11} {'first batch':>11}")
    for source, target in ((0, 1), (1, 0)):
        trial.time(
            "move of a substream", Move(operator="count", transfers=(Transfer((0,), source, target),), reason="bench")
        )
    trial.time("activation of a standby", Scale(pool="count", executors=3, reason="bench"))
    trial.time("removal", Scale(pool="count", executors=2, reason="bench"))
    trial.plan = without_standby(trial.plan)
    trial.reconciler.follow(trial.plan)
    await_(lambda: trial.present() == 2 and trial.state.book.is_settled)
    trial.time("new executor", Scale(pool="count", executors=3, reason="bench"))
    trial.time_loss(app_id)
    print(f"\nmedian batch: {trial.batch_s():.2f} s")


def without_standby(plan: Plan) -> Plan:
    pool = msgspec.structs.replace(plan.pools["count"], standby=0)
    return msgspec.structs.replace(plan, revision=plan.revision + 1, pools={"count": pool})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"), dest="settings")
    settings: dict[str, Any] = dict(parser.parse_args().settings) | {
        "spark.executor.cores": 1,
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": SUBSTREAMS,
    }
    with tempfile.TemporaryDirectory() as folder, EmbeddedCluster([Node("one", cores=4, memory="8g")]) as cluster:
        spark = build_session("effect", cluster=cluster, settings=settings)
        try:
            run(spark, Path(folder))
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
