"""Value-sensitivity benchmark: an operator near its capacity whose records differ in cost, on Spark.

Run with `python -m bench.sensitive`. Values are drawn from Zipf 1.5 and cost 1 to 64 units in random order, emulated by
sleeping. `dabs` with OSG and `dabs` with round robin run one after the other with the same load and budget. The load
keeps 3.2 of four executors busy on average, so that the balance within each batch matters. OSG first has to learn the
costs of values, and backlogs take time to grow: the score is over the whole run, and over the time after the first two
minutes.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench._trial import Contender, Trial, after, compare, print_score, print_score_header
from bench.osg import UNITS, VALUES, WEIGHTS
from pyspark.sql import DataFrame, SparkSession

from rheostat.load import Constant
from rheostat.sla import SLA, Budget
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.feeder import MakeRecord

EXECUTORS = 4
BUSY = 3.2
"""Executors that the load keeps busy."""
GROUPINGS = ("osg", "round-robin")
LEARNING_S = 120.0
OBSERVE_ONLY_S = 16.0
"""Until then no action is allowed: all measurements are from the low rate of the warm-up."""


def sensitive(mean_s: float, folder: Path) -> Topology:
    seconds = (UNITS * mean_s / float(WEIGHTS @ UNITS)).tolist()

    @per_record("value int", cost="value")
    def serve(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        time.sleep(seconds[record["value"]])
        yield {"value": record["value"]}

    return Topology("values", [Source("values", reader=reader(folder)), Operator("serve", serve, inputs="values")])


def reader(folder: Path) -> Callable[[SparkSession], DataFrame]:
    @entered_at("entered")
    def read(spark: SparkSession) -> DataFrame:
        return spark.readStream.schema("entered timestamp, value int").json(str(folder))

    return read


def values() -> MakeRecord:
    rng = np.random.default_rng(3)
    return lambda time_s: {"value": int(rng.choice(VALUES, p=WEIGHTS))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groupings", nargs="+", default=GROUPINGS, choices=GROUPINGS)
    parser.add_argument("--mean", type=float, default=0.5, help="mean seconds per record")
    parser.add_argument("--sla", default="20s/30s")
    parser.add_argument("--for", type=float, default=300.0, dest="duration", help="seconds per run")
    arguments = parser.parse_args()
    sla, rate = SLA.parse(arguments.sla), BUSY / arguments.mean
    trial = Trial(
        partial(sensitive, arguments.mean), Constant(rate), values, sla, arguments.duration, {"serve": EXECUTORS},
        Budget(EXECUTORS), trickle=rate / 4,
    )  # fmt: skip
    contenders = {f"dabs, {grouping}": Contender("dabs", {"grouping": grouping}) for grouping in arguments.groupings}
    histories = compare(trial, contenders, observe_only_s=OBSERVE_ONLY_S)
    print(f"\ncosts emulated by sleeping: {arguments.mean:g} s per record, {rate:.3g} records/s, SLA {sla}")
    print_score_header()
    for name, history in histories.items():
        print_score(name, history, sla)
        print_score("  later", after(history, LEARNING_S), sla)


if __name__ == "__main__":
    main()
