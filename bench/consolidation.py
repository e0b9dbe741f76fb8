"""Ra-Stream on Spark: `python -m bench.consolidation`.

Word count on two nodes with labels, each operator's pool on a node of its own. When the rate falls both pools go to
one node and the other one's executors are released; when it rises they spread again. Printed is where each pool
serves, when it changed and why, and whether the counts are exact in the end. Costs are emulated by waiting.

With `--fuse` the operators are one query while they are on one node, and are split before they part.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from rheostat.decision import Fuse, Place, Split
from rheostat.describe import describe
from rheostat.load import Step
from rheostat.load.skew import zipf
from rheostat.loop.turn import Ruling, Turn
from rheostat.pipeline import start
from rheostat.sla import Budget
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.workloads.feeder import Feeder
from rheostat.workloads.wordcount import sentences, word_count

COST_S = 0.02
LOW, HIGH = 8.0, 40.0
OPTIONS = {"alpha": 1, "beta": 0, "t_under": 0.1, "t_over": 0.28, "frame": "20s", "margin": 0.05, "horizon": "2m"}
"""A node has four slots. 28 % of them are what one busy executor and a little more use."""

QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Whereabouts:
    """Prints where pools serve whenever that changes, and what was decided about it."""

    def __init__(self) -> None:
        self.seen: list[dict[str, str]] = []
        self._start_s = time.monotonic()

    def __call__(self, period: Turn) -> None:
        for verdict in period.verdicts:
            if isinstance(verdict.decision, Place | Fuse | Split) and verdict.ruling is Ruling.ACCEPTED:
                self._print(f"{describe(verdict.decision)} ({verdict.decision.subject}): {verdict.decision.reason}")
        if period.snapshot is None:
            return
        now = {e.pool: e.node or "?" for e in period.snapshot.executors if e.id >= 0}
        if len(now) == len(period.plan.pools) and (not self.seen or now != self.seen[-1]):
            self.seen.append(now)
            self._print(", ".join(f"{pool} on {node}" for pool, node in now.items()))

    def _print(self, text: str) -> None:
        print(f"{time.monotonic() - self._start_s:6.0f} s  {text}", flush=True)


def run(folder: Path, part_s: float, fuse: bool) -> None:
    inbox = folder / "sentences"
    make = sentences(zipf(200, 0.9), np.random.default_rng(3))
    feeder = Feeder(inbox, Step([(0, HIGH), (part_s, LOW), (2 * part_s, HIGH)]), make)
    whereabouts = Whereabouts()
    nodes = [Node("north", cores=4, memory="4g"), Node("south", cores=4, memory="4g")]
    with (
        EmbeddedCluster(nodes) as cluster,
        start(
            word_count(inbox, cost_s=COST_S, substreams=4),
            policy="ra-stream",
            options={**OPTIONS, "fuse": fuse},
            budget=Budget(4),
            nodes={"split": "north", "count": "south"},
            directory=folder / "run",
            cluster=cluster,
            settings={
                "spark.driver.extraJavaOptions": QUICK_TO_START,
                "spark.executor.extraJavaOptions": QUICK_TO_START,
            },
            period="2s",
            listeners=[whereabouts],
        ) as running,
        feeder,
    ):
        running.wait(3 * part_s)
        feeder.stop()
        running.runtime.drain()
        rows = running.runtime.results("count").groupBy("word").agg({"count": "max"}).collect()
    counted, fed = sum(row[1] for row in rows), 5 * feeder.fed
    print(f"words counted: {counted:,} of {fed:,}{'' if counted == fed else '  WRONG'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=90.0, help="seconds of each of the three rates")
    parser.add_argument("--fuse", action="store_true", help="have operators on one node share a query")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run(Path(folder), asked.part, asked.fuse)


if __name__ == "__main__":
    main()
