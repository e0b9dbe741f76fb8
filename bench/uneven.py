"""Uneven executors benchmark: one executor is slower than the others, on Spark.

Run with `python -m bench.uneven`. A stateless operator whose cost is emulated by sleeping, three times as long on one
of its three executors, under a constant load. With round robin a third of the rows wait for the slow executor; with
load-aware grouping (PA-SPS) the next rows go to an executor that is free. Neither changes the number of executors. Then
the same with equal executors, to measure the overhead.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench._trial import Contender, Trial, compare, print_score, print_score_header
from bench.peak import numbers, reader

from rheostat.cli.run_history import RunHistory
from rheostat.load import Constant
from rheostat.sla import SLA, Budget
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.topology import Operator, Source, Topology

COST_S = 0.05
SLOWER = 3.0
EXECUTORS = 3
RATE = 24.0
"""Records per second: work for 1.2 executors, with a capacity of 2.33."""
GROUPINGS = ("round-robin", "load-aware")


def topology(slower: float, folder: Path) -> Topology:
    chosen = folder.parent / "slow"
    work = per_record("value long")(working(slower, chosen))
    return Topology("uneven", [Source("records", reader=reader(folder)), Operator("work", work, inputs="records")])


def working(slower: float, chosen: Path) -> Callable[[dict[str, Any]], Iterator[dict[str, Any]]]:
    """A function that is slower on the first executor that calls it, whose Python workers share a parent process."""

    def work(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
        time.sleep(COST_S * (slower if is_first(chosen, os.getppid()) else 1.0))
        yield {"value": record["value"]}

    return work


def is_first(chosen: Path, process: int) -> bool:
    try:
        with chosen.open("x") as file:
            file.write(str(process))
    except FileExistsError:
        pass
    return chosen.read_text() == str(process)


def contender(grouping: str) -> Contender:
    """A policy that sets `grouping` and makes no further decision."""
    return Contender("psps", {"grouping": grouping, "td": "1h"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", type=float, default=60.0, dest="duration", help="seconds per run")
    parser.add_argument("--sla", default="5s/10s")
    arguments = parser.parse_args()
    sla = SLA.parse(arguments.sla)
    for slower in (SLOWER, 1.0):
        trial = Trial(
            partial(topology, slower), Constant(RATE), numbers, sla, arguments.duration, {"work": EXECUTORS},
            Budget(EXECUTORS),
        )  # fmt: skip
        histories = compare(trial, {grouping: contender(grouping) for grouping in GROUPINGS})
        times = f"{slower:g} times that on one of {EXECUTORS} executors"
        print(f"\n{COST_S} s per record, {times}; {RATE:g} records/s, SLA {sla}")
        print_score_header()
        for grouping, history in histories.items():
            print_score(grouping, history, sla)
            print(
                f"  mean latency {mean_latency_s(history):.1f} s, oldest at the end {history.turns[-1].oldest_s:.1f} s"
            )


def mean_latency_s(history: RunHistory) -> float:
    known = [turn.latency_s for turn in history.turns if turn.latency_s is not None]
    return sum(known) / len(known)


if __name__ == "__main__":
    main()
