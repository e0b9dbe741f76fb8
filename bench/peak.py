"""Peak benchmark: recurring peaks on Spark.

Run with `python -m bench.peak`. A stateless operator whose cost is emulated by sleeping, under a load that jumps to a
multiple for a third of each minute. `pa-sps` forecasts the peaks after it has seen two periods, and starts executors
early enough; `psps` is the same policy without forecasts, and `threshold` follows utilisation: both have warm standby
executors instead, which are active from the next batch. `rheostat` has its defaults. All run one after the other with
the same load and budget; standby executors cost as much as others. The score is over the whole run, and over the time
after the second peak.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench._trial import Contender, Trial, after, compare, print_score, print_score_header
from pyspark.sql import DataFrame, SparkSession

from rheostat.load import Step
from rheostat.sla import SLA, Budget
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.feeder import MakeRecord

COST_S = 0.05
LOW, HIGH = 8.0, 44.0
"""Records per second: work for 0.4 and for 2.2 executors."""
PERIOD_S = 60.0
PEAK_S = 20.0
MAX_EXECUTORS = 5
STANDBY = {"work": 2}
SAMPLE_S = 2.0
TIMES: dict[str, Any] = {"td": "6s", "sample": f"{SAMPLE_S}s", "window": round(2.5 * PERIOD_S / SAMPLE_S)}
HEADROOM = 0.43
"""A batch has over a second of overhead: to stay within 5 s, executors may be used to 0.7."""
CONTENDERS = {
    "rheostat": Contender("rheostat", {}),
    "pa-sps": Contender("pa-sps", {"predictor": "seasonal-naive", "headroom": HEADROOM, **TIMES}),
    "psps": Contender("psps", {"headroom": HEADROOM, **TIMES}, STANDBY),
    "threshold": Contender("threshold", {}, STANDBY),
    "drs": Contender("drs", {"t_min": "3s"}, STANDBY),
}


def stateless(folder: Path) -> Topology:
    return Topology("peak", [Source("records", reader=reader(folder)), Operator("work", work, inputs="records")])


def reader(folder: Path) -> Callable[[SparkSession], DataFrame]:
    @entered_at("entered")
    def read(spark: SparkSession) -> DataFrame:
        return spark.readStream.schema("entered timestamp, value long").json(str(folder))

    return read


@per_record("value long")
def work(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    time.sleep(COST_S)
    yield {"value": record["value"]}


def numbers() -> MakeRecord:
    return lambda time_s: {"value": int(1000 * time_s)}


def recurring(peaks: int) -> Step:
    low_s = PERIOD_S - PEAK_S
    steps = [(n * PERIOD_S + at_s, rate) for n in range(peaks) for at_s, rate in ((0.0, LOW), (low_s, HIGH))]
    return Step(steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--contenders", nargs="+", default=["rheostat", "pa-sps", "psps", "threshold"], choices=CONTENDERS
    )
    parser.add_argument("--sla", default="5s/10s")
    parser.add_argument("--peaks", type=int, default=4)
    arguments = parser.parse_args()
    sla = SLA.parse(arguments.sla)
    duration_s = arguments.peaks * PERIOD_S
    trial = Trial(stateless, recurring(arguments.peaks), numbers, sla, duration_s, {"work": 1}, Budget(MAX_EXECUTORS))
    contenders = {name: CONTENDERS[name] for name in arguments.contenders}
    histories = compare(trial, contenders, cooldown="4s")
    print(f"\ncosts emulated by sleeping: {COST_S} s per record, {LOW:g} to {HIGH:g} records/s, SLA {sla}")
    print(
        f"standby executors: {', '.join(f'{name} {sum(each.standby.values())}' for name, each in contenders.items())}"
    )
    print_score_header()
    for name, history in histories.items():
        print_score(name, history, sla)
        print_score("  from peak 3", after(history, 2 * PERIOD_S), sla)


if __name__ == "__main__":
    main()
