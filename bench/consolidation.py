"""Consolidation benchmark: Ra-Stream on Spark moves pools to fewer nodes when the rate falls.

Run with `python -m bench.consolidation`. Word count on two nodes with labels, each operator's pool on its own node.
When the rate falls, both pools move to one node and the executors on the other are released; when it rises, they spread
again. It prints where each pool runs, the decisions with their reasons, and whether the final counts are exact. Costs
are emulated by sleeping.

With `--fuse` the operators share a query while they are on one node, and are split before they move apart.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from bench._drain import drain

from rheostat.decision import Fuse, Place, Split
from rheostat.describe import describe
from rheostat.load import Step
from rheostat.load.skew import zipf
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling, Turn
from rheostat.pipeline import start
from rheostat.sla import Budget
from rheostat.spark.act.cluster_view import RESERVED_EXECUTORS
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.spark.target import FAST_START_SETTINGS, SparkTarget
from rheostat.workloads.feeder import Feeder
from rheostat.workloads.wordcount import sentences, word_count

COST_S = 0.02
LOW, HIGH = 8.0, 40.0
OPTIONS = {"alpha": 1, "beta": 0, "t_under": 0.1, "t_over": 0.28, "frame": "20s", "margin": 0.05, "horizon": "2m"}
"""A node has four slots; 28 % of them are slightly more than one busy executor uses."""


class PlacementPrinter:
    """Prints the nodes of the pools whenever they change, and the decisions about them."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []
        self._start_s = time.monotonic()

    def __call__(self, turn: Turn) -> None:
        for verdict in turn.verdicts:
            if isinstance(verdict.decision, Place | Fuse | Split) and verdict.ruling is Ruling.ACCEPTED:
                self._print(f"{describe(verdict.decision)} ({verdict.decision.subject}): {verdict.decision.reason}")
        if turn.snapshot is None:
            return
        now = {e.pool: e.node or "?" for e in turn.snapshot.executors if e.id >= 0}
        if len(now) == len(turn.plan.pools) and (not self.seen or now != self.seen[-1]):
            self.seen.append(now)
            self._print(", ".join(f"{pool} on {node}" for pool, node in now.items()))

    def _print(self, text: str) -> None:
        print(f"{time.monotonic() - self._start_s:6.0f} s  {text}", flush=True)


def run(folder: Path, part_s: float, fuse: bool) -> None:
    inbox = folder / "sentences"
    make = sentences(zipf(200, 0.9), np.random.default_rng(3))
    feeder = Feeder(inbox, Step([(0, HIGH), (part_s, LOW), (2 * part_s, HIGH)]), make)
    printer = PlacementPrinter()
    nodes = [Node("north", cores=4, memory="4g"), Node("south", cores=4, memory="4g")]
    with (
        EmbeddedCluster(nodes) as cluster,
        start(
            word_count(inbox, cost_s=COST_S, substreams=4),
            policy="ra-stream",
            options={**OPTIONS, "fuse": fuse},
            budget=Budget(4 + RESERVED_EXECUTORS),
            directory=folder / "run",
            on=SparkTarget(cluster=cluster, settings=FAST_START_SETTINGS, nodes={"split": "north", "count": "south"}),
            loop=LoopOptions("2s"),
            listeners=[printer],
        ) as running,
        feeder,
    ):
        running.wait(3 * part_s)
        feeder.stop()
        drain(running.runtime)
        rows = running.runtime.results("count").groupBy("word").agg({"count": "max"}).collect()
    counted, fed = sum(row[1] for row in rows), 5 * feeder.fed
    print(f"words counted: {counted:,} of {fed:,}{'' if counted == fed else '  WRONG'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=90.0, help="duration of each of the three rates in seconds")
    parser.add_argument("--fuse", action="store_true", help="let operators on one node share a query")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run(Path(folder), arguments.part, arguments.fuse)


if __name__ == "__main__":
    main()
