"""Recovery benchmark: DRS corrects a bad allocation on Spark without more executors.

Run with `python -m bench.recovery`. A chain of three operators, whose costs are emulated by sleeping, starts with most
executors at the operators with the least work. DRS only observes for a while and may then act, with the same number of
executors (problem (6), K_max).
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench._trial import Contender, Trial, print_timeline
from pyspark.sql import DataFrame, SparkSession

from rheostat.cli.run_history import RunHistory
from rheostat.experiments.on_spark.shared_cluster import cluster_for_a_run
from rheostat.load import Constant
from rheostat.sla import SLA, Budget
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.feeder import MakeRecord

COSTS_S = {"parse": 0.005, "analyse": 0.050, "store": 0.010}
BAD = {"parse": 2, "analyse": 1, "store": 2}
RATE = 24.0
"""Records per second: 1.2 times what one executor of `analyse` can process."""


def pipeline(folder: Path) -> Topology:
    names = ["records", *COSTS_S]
    operators = [
        Operator(name, waiting(cost_s), inputs=before)
        for before, (name, cost_s) in zip(names, COSTS_S.items(), strict=False)
    ]
    return Topology("recovery", [Source("records", reader=reader(folder)), *operators])


def reader(folder: Path) -> Callable[[SparkSession], DataFrame]:
    @entered_at("entered")
    def read(spark: SparkSession) -> DataFrame:
        return spark.readStream.schema("entered timestamp, value long").json(str(folder))

    return read


def waiting(cost_s: float) -> Any:
    @per_record("value long")
    def work(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        time.sleep(cost_s)
        yield {"value": record["value"]}

    return work


def numbers() -> MakeRecord:
    return lambda time_s: {"value": int(1000 * time_s)}


def latency_s(history: RunHistory, from_s: float, until_s: float) -> float:
    """The median over the turns in an interval; without results, the age of the oldest record in the backlog."""
    start_s = history.turns[0].time_s
    within = [turn for turn in history.turns if from_s <= turn.time_s - start_s < until_s]
    return median(turn.oldest_s if turn.latency_s is None else turn.latency_s for turn in within)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=float, default=30.0, metavar="SECONDS", help="time before DRS may act")
    parser.add_argument("--for", type=float, default=200.0, metavar="SECONDS", dest="duration")
    arguments = parser.parse_args()
    total = sum(BAD.values())
    trial = Trial(pipeline, Constant(RATE), numbers, SLA("5s", "10s"), arguments.duration, BAD, Budget(total))
    with cluster_for_a_run() as nodes:
        history = trial.run(nodes, Contender("drs", {"problem": "k_max"}), observe_only_s=arguments.before)
    print(f"costs emulated by sleeping: {COSTS_S} s per record, {RATE:g} records/s, {total} executors in total")
    print_timeline(history)
    before_s = latency_s(history, arguments.before - 10, arguments.before)
    worst_s = max(turn.oldest_s for turn in history.turns)
    after_s = latency_s(history, arguments.duration - 30, arguments.duration)
    print(f"latency before DRS acts: {before_s:.1f} s, maximum {worst_s:.1f} s, in the last 30 s {after_s:.1f} s")
    print(f"executors: {BAD} before, {history.turns[-1].executors} after")


if __name__ == "__main__":
    main()
