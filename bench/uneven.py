"""An executor that is slower than the others, on Spark: `python -m bench.uneven`.

A stateless operator whose cost is emulated by waiting, three times as long on one of its three executors, under a
constant load. Spread round robin a third of the rows wait for that one; load-aware (PA-SPS) whoever is free takes the
next. Neither changes the number of executors. Then the same with executors that are alike, for what it costs.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench._trial import Contender, Trial, compared, print_score, print_score_head
from bench.peak import numbers, reader

from rheostat.cli.history import History
from rheostat.load import Constant
from rheostat.sla import SLA, Budget
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.topology import Operator, Source, Topology

COST_S = 0.05
SLOWER = 3.0
EXECUTORS = 3
RATE = 24.0
"""Records a second: work for 1.2 executors, of the 2.33 that there are."""
GROUPINGS = ("round-robin", "load-aware")


def topology(slower: float, folder: Path) -> Topology:
    chosen = folder.parent / "slow"
    work = per_record("value long")(working(slower, chosen))
    return Topology("uneven", [Source("records", reader=reader(folder)), Operator("work", work, inputs="records")])


def working(slower: float, chosen: Path) -> Callable[[dict[str, Any]], Iterator[dict[str, Any]]]:
    """What costs more on the executor that comes first: its Python workers are children of one process."""

    def work(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        time.sleep(COST_S * (slower if first_come(chosen, os.getppid()) else 1.0))
        yield {"value": record["value"]}

    return work


def first_come(chosen: Path, process: int) -> bool:
    try:
        with chosen.open("x") as file:
            file.write(str(process))
    except FileExistsError:
        pass
    return chosen.read_text() == str(process)


def contender(grouping: str) -> Contender:
    """It spreads rows as told, and never gets to another decision."""
    return Contender("psps", {"grouping": grouping, "td": "1h"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", type=float, default=60.0, dest="duration", help="seconds of each")
    parser.add_argument("--sla", default="5s/10s")
    arguments, _ = parser.parse_known_args()
    sla = SLA.parse(arguments.sla)
    for slower in (SLOWER, 1.0):
        trial = Trial(
            partial(topology, slower), Constant(RATE), numbers, sla, arguments.duration, {"work": EXECUTORS},
            Budget(EXECUTORS),
        )  # fmt: skip
        histories = compared(trial, {grouping: contender(grouping) for grouping in GROUPINGS})
        times = f"{slower:g} times that on one of {EXECUTORS} executors"
        print(f"\n{COST_S} s a record, {times}; {RATE:g} records/s, SLA {sla}")
        print_score_head()
        for grouping, history in histories.items():
            print_score(grouping, history, sla)
            print(
                f"  mean latency {mean_latency_s(history):.1f} s, {history.moments[-1].oldest_s:.1f} s old at the end"
            )


def mean_latency_s(history: History) -> float:
    known = [moment.latency_s for moment in history.moments if moment.latency_s is not None]
    return sum(known) / len(known)


if __name__ == "__main__":
    main()
