"""Attach benchmark: a plain streaming query on Spark under `rheostat.attach`, through loads that nobody told it of.

Run with `python -m bench.attach`. A query reads 120 rows/s from the `rate` source in 8 partitions; what a row costs is
emulated by waiting, and changes: a surge to ten times the cost for two minutes, a ramp, peaks that come again, a slow
fall. Each load runs under `rheostat`, `drs`, Spark's own dynamic allocation, and a fixed number of executors that
suffices for the highest cost; one after the other on one cluster, from one executor (the fixed number apart).

Latencies follow from the batches: rows arrive evenly, wait for the start of their batch and then for its end. An
executor counts from the moment the cluster's master launches it.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import rheostat
from rheostat.experiments.on_spark.paid_executors import PaidExecutors
from rheostat.experiments.on_spark.shared_cluster import cluster_for_a_run
from rheostat.loop.turn import Ruling, Turn
from rheostat.sla import SLA
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.observe.query_progress import QueryRun, StreamingQueries
from rheostat.spark.observe.query_totals import estimated_latency_s
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.session import Setting
from rheostat.spark.target import FAST_START_SETTINGS, SparkTarget

ROWS_PER_S, PARTITIONS = 120, 8
LOW_S, HIGH_S = 0.002, 0.020
"""What a row costs: work for 0.24 and for 2.4 executors."""

MAX_EXECUTORS = 6
ENOUGH = 4
"""Executors that keep the SLA at the highest cost."""

WARM_UP_S = 25.0
DYNAMIC_ALLOCATION, FIXED = "spark-dra", "fixed"
CONTENDERS = ("rheostat", "drs", DYNAMIC_ALLOCATION, FIXED)

Cost = Callable[[float], float]
"""What a row costs so many seconds after the start of the load."""


@dataclass(frozen=True)
class Load:
    """Costs over `duration_s`; `high_s` are the times between which the cost is, or may be, high."""

    cost: Cost
    duration_s: float
    high_s: tuple[float, float]


def between(start_s: float, end_s: float) -> Cost:
    return lambda at_s: HIGH_S if start_s <= at_s < end_s else LOW_S


def linear(start_s: float, from_s: float, end_s: float, to_s: float) -> Cost:
    def cost_s(at_s: float) -> float:
        share = min(1.0, max(0.0, (at_s - start_s) / (end_s - start_s)))
        return from_s + share * (to_s - from_s)

    return cost_s


LOADS = {
    "surge": Load(between(30, 150), 240, (30, 150)),
    "ramp": Load(linear(20, LOW_S, 170, HIGH_S), 200, (20, 200)),
    "peaks": Load(lambda at_s: HIGH_S if at_s % 60 >= 35 else LOW_S, 240, (35, 240)),
    "fall": Load(linear(20, HIGH_S, 170, LOW_S), 200, (0, 170)),
}


@dataclass(frozen=True)
class Outcome:
    """One run: its batches, the executors paid for over time, and what was decided, by seconds since the start."""

    start_s: float
    batches: tuple[BatchRecord, ...]
    executors: tuple[tuple[float, int], ...]
    executor_seconds: float
    decisions: tuple[tuple[float, str], ...]

    def latencies(self) -> Iterator[tuple[float, float, int]]:
        """End, mean latency and rows of each batch."""
        for before, batch in zip((None, *self.batches), self.batches, strict=False):
            yield batch.committed_s - self.start_s, estimated_latency_s(batch, before), batch.row_count

    def success(self, sla: SLA, duration_s: float) -> float:
        """The share of the SLA's windows in which it held; one without a finished batch counts as missed if rows wait
        for longer than the SLA allows."""
        known = list(self.latencies())
        met = []
        for end_s in range(math.ceil(sla.window_s), int(duration_s) + 1):
            inside = [(mean_s, rows) for at_s, mean_s, rows in known if end_s - sla.window_s < at_s <= end_s]
            total = sum(rows for _, rows in inside)
            met.append(total > 0 and sum(mean_s * rows for mean_s, rows in inside) / total <= sla.latency_s)
        return sum(met) / len(met)

    def size_at(self, at_s: float) -> int:
        return next((number for time_s, number in reversed(self.executors) if time_s <= at_s), 0)

    def last_late_s(self, limit_s: float, load: Load) -> float | None:
        """When the last batch of more than `limit_s` ended that began while costs were high."""
        late = [
            batch.committed_s - self.start_s
            for batch in self.batches
            if batch.duration_s > limit_s
            and load.high_s[0] - limit_s <= batch.started_s - self.start_s < load.high_s[1]
        ]
        return max(late, default=None)


def run(cluster: EmbeddedCluster, load: Load, contender: str, sla: SLA, folder: Path) -> Outcome:
    """One run, from a session of its own."""
    settings: dict[str, Setting] = {**FAST_START_SETTINGS, **_settings(contender)}
    with ExitStack() as stack:
        with spark_output_to(folder / "spark.log"):
            spark = stack.enter_context(SparkTarget(cluster=cluster, settings=settings).open("attach"))
        paid = stack.enter_context(PaidExecutors(cluster, str(spark.sparkContext.applicationId)))
        start_s = time.time() + WARM_UP_S
        query = _query(spark, load.cost, start_s)
        stack.callback(query.stop)
        followed = _follow(spark)
        turns: list[Turn] = []
        time.sleep(max(0.0, start_s - 10 - time.time()))
        if contender not in (DYNAMIC_ALLOCATION, FIXED):
            attached = rheostat.attach(
                spark, sla, contender, min_executors=1, max_executors=MAX_EXECUTORS, listeners=[turns.append]
            )
            stack.callback(attached.detach)
        batches: list[BatchRecord] = []
        while time.time() < start_s + load.duration_s:
            batches += followed.new_batches()
            time.sleep(0.5)
        executors = tuple((time_s - start_s, number) for time_s, number in paid.samples)
        cost = paid.executor_seconds(start_s, start_s + load.duration_s)
    return Outcome(start_s, tuple(batches), executors, cost, tuple(_decisions(turns, start_s)))


def _settings(contender: str) -> Mapping[str, Setting]:
    """Executors of one core. All but the fixed number begin with one, and only dynamic allocation may add others."""
    plain: dict[str, Setting] = {"spark.executor.cores": 1, "spark.executor.memory": "512m"}
    if contender == FIXED:
        return plain | {"spark.dynamicAllocation.enabled": "false", "spark.cores.max": ENOUGH}
    most = MAX_EXECUTORS if contender == DYNAMIC_ALLOCATION else 1
    limits = {"minExecutors": 1, "initialExecutors": 1, "maxExecutors": most}
    return plain | {f"spark.dynamicAllocation.{name}": number for name, number in limits.items()}


def _query(spark: SparkSession, cost: Cost, start_s: float) -> Any:
    def wait(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(batch.num_rows * cost(time.time() - start_s))
            yield batch

    rows = spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_S).option("numPartitions", PARTITIONS)
    return rows.load().mapInArrow(wait, "timestamp timestamp, value long").writeStream.format("noop").start()


def _follow(spark: SparkSession) -> QueryRun:
    queries = StreamingQueries(spark)
    queries.update()
    (followed,) = queries.running.values()
    return followed


def _decisions(turns: Iterable[Turn], start_s: float) -> Iterator[tuple[float, str]]:
    for turn in turns:
        for verdict in turn.ruled(Ruling.ACCEPTED):
            yield turn.time_s - start_s, verdict.decision.reason


def print_run(contender: str, outcome: Outcome, load: Load) -> None:
    print(f"\n{contender}")
    for at_s, reason in outcome.decisions:
        print(f"  {at_s:5.0f} s  {reason}")
    ended = [(batch.committed_s - outcome.start_s, batch.duration_s) for batch in outcome.batches]
    for from_s in range(0, int(load.duration_s), 20):
        inside = [duration_s for at_s, duration_s in ended if from_s <= at_s < from_s + 20]
        shown = " ".join(f"{duration_s:.1f}" for duration_s in inside) or "none ended"
        print(f"  {from_s:5} s  {outcome.size_at(from_s)} executors, batches {shown}", flush=True)


def print_scores(outcomes: Mapping[str, Outcome], load: Load, sla: SLA) -> None:
    header = ("SLA met", "longest batch", "last late batch", "executors 60 s after", "executor-s")
    print(f"\n{'':12}" + "".join(f"{name:>22}" for name in header))
    for contender, outcome in outcomes.items():
        late_s = outcome.last_late_s(sla.latency_s, load)
        cells = (
            f"{100 * outcome.success(sla, load.duration_s):.1f} %",
            f"{max((batch.duration_s for batch in outcome.batches), default=math.nan):.1f} s",
            "none" if late_s is None else f"{late_s - load.high_s[0]:.0f} s after it began",
            str(outcome.size_at(min(load.high_s[1] + 60, load.duration_s))),
            f"{outcome.executor_seconds:.0f}",
        )
        print(f"{contender:12}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=LOADS)
    parser.add_argument(
        "--contenders", nargs="+", default=list(CONTENDERS), help=f"of {', '.join(CONTENDERS)}, or others"
    )
    parser.add_argument("--sla", default="5s/30s")
    arguments = parser.parse_args()
    sla = SLA.parse(arguments.sla)
    with cluster_for_a_run() as cluster, tempfile.TemporaryDirectory(prefix="rheostat-bench-") as folder:
        for name in arguments.loads:
            print(f"\n== {name}: {ROWS_PER_S} rows/s, {1000 * LOW_S:g} to {1000 * HIGH_S:g} ms a row, SLA {sla}")
            outcomes = {}
            for contender in arguments.contenders:
                outcomes[contender] = run(cluster, LOADS[name], contender, sla, Path(folder))
                print_run(contender, outcomes[contender], LOADS[name])
            print_scores(outcomes, LOADS[name], sla)


if __name__ == "__main__":
    main()
