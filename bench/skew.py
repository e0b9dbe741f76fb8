"""Skew benchmark: latency on Spark under skew with changing hot keys.

Run with `python -m bench.skew`. A keyed operator whose cost is emulated by sleeping. Most of the load always falls on
the initial substreams of one executor, in every phase of another one. There are enough executors in total; the load
only has to be balanced better. `rheostat`, `streamswitch`, `drs` and `drs-lb` run one after the other with the same
load and budget.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench._trial import Contender, Trial, compare, print_score, print_score_header
from pyspark.sql import DataFrame, SparkSession

from rheostat.load import Constant
from rheostat.sla import SLA, Budget
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.feeder import MakeRecord

COST_S = 0.02
RATE = 80.0
"""Records per second: work for 1.6 executors."""
EXECUTORS = 4
MAX_EXECUTORS = 6
SUBSTREAMS = 12
KEYS = 64
HOT_SHARE = 0.6
"""Share of the load on the substreams of one executor: 0.96 of its capacity, too much with the overhead of batches."""
PHASE_S = 50.0
OBSERVE_ONLY_S = 16.0
"""Until then no action is allowed: all measurements are from the low rate of the warm-up."""
POLICIES: dict[str, dict[str, Any]] = {"rheostat": {}, "streamswitch": {}, "drs": {}, "drs-lb": {}}


def keyed(folder: Path) -> Topology:
    count = Operator("match", match, inputs="orders", key="stock", substreams=SUBSTREAMS)
    return Topology("skew", [Source("orders", reader=reader(folder)), count])


def reader(folder: Path) -> Callable[[SparkSession], DataFrame]:
    @entered_at("entered")
    def read(spark: SparkSession) -> DataFrame:
        return spark.readStream.schema("entered timestamp, stock int").json(str(folder))

    return read


@per_record("stock int")
def match(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    time.sleep(COST_S)
    yield {"stock": order["stock"]}


def orders() -> MakeRecord:
    """Orders whose hot stocks are on another executor in each phase."""
    rng = np.random.default_rng(7)
    initial_executors = [substream_of(stock) * EXECUTORS // SUBSTREAMS for stock in range(KEYS)]
    shares = [_shares(np.array(initial_executors) == executor) for executor in range(EXECUTORS)]

    def make(time_s: float) -> dict[str, Any]:
        hot = int(time_s / PHASE_S) % EXECUTORS
        return {"stock": int(rng.choice(KEYS, p=shares[hot]))}

    return make


def _shares(is_hot: np.ndarray) -> Any:
    return np.where(is_hot, HOT_SHARE / is_hot.sum(), (1 - HOT_SHARE) / (~is_hot).sum())


def substream_of(key: int) -> int:
    """The partition of an int in Spark: Murmur3 with seed 42, modulo the number of partitions."""
    mixed = _rotated(key * 0xCC9E2D51, 15) * 0x1B873593
    mixed = _rotated(42 ^ (mixed & 0xFFFFFFFF), 13) * 5 + 0xE6546B64
    mixed = (mixed & 0xFFFFFFFF) ^ 4
    mixed = ((mixed ^ mixed >> 16) * 0x85EBCA6B) & 0xFFFFFFFF
    mixed = ((mixed ^ mixed >> 13) * 0xC2B2AE35) & 0xFFFFFFFF
    mixed ^= mixed >> 16
    return (mixed - (1 << 32) if mixed >> 31 else mixed) % SUBSTREAMS


def _rotated(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return (value << bits | value >> 32 - bits) & 0xFFFFFFFF


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), choices=POLICIES)
    parser.add_argument("--sla", default="10s/20s")
    parser.add_argument("--phases", type=int, default=3)
    arguments = parser.parse_args()
    sla = SLA.parse(arguments.sla)
    duration_s = arguments.phases * PHASE_S
    trial = Trial(keyed, Constant(RATE), orders, sla, duration_s, {"match": EXECUTORS}, Budget(MAX_EXECUTORS))
    contenders = {policy: Contender(policy, POLICIES[policy]) for policy in arguments.policies}
    histories = compare(trial, contenders, observe_only_s=OBSERVE_ONLY_S)
    print(
        f"\ncosts emulated by sleeping: {COST_S} s per record, {RATE:g} records/s, SLA {sla}, "
        f"at most {MAX_EXECUTORS} executors"
    )
    print_score_header()
    for policy, history in histories.items():
        print_score(policy, history, sla)


if __name__ == "__main__":
    main()
