"""Fused word count against two queries, in one run: `python -m bench.fused`.

Sentences come at one rate all the time. Their splitting is fused with the counting of words and split from it again,
in turns and while they flow; latency is measured from entry to the commit of the count, once each change has settled.
Printed are each turn's latency, the ratio of each fused turn to the two around it with its 95 % interval, how long
changes took, and whether the counts are exact in the end. Apart there are two pools of one executor, fused there is
one.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from rheostat.cli.demo import QUICK_TO_START
from rheostat.cli.quiet import quiet_spark
from rheostat.decision import Decision, Fuse, Split
from rheostat.load import Constant
from rheostat.load.skew import zipf
from rheostat.pipeline import Running, start
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.workloads.feeder import Feeder
from rheostat.workloads.wordcount import sentences, word_count

WORDS = 5
PATIENCE_S = 600.0
WARM_UP_S = 45.0
"""In which the first executors come and what gathered before they did is worked off."""


@dataclass
class Turn:
    """Whose turn it is."""

    fused: bool = False


def following(turn: Turn) -> type[Policy]:
    """A policy that fuses and splits as `turn` says."""

    class Turns(Policy):
        def decide(self, observation: Observation) -> Sequence[Decision]:
            if turn.fused == bool(observation.plan.fused):
                return []
            if turn.fused:
                return [Fuse(operators=("split", "count"), reason="its turn")]
            return [Split(operators=("split", "count"), reason="its turn")]

    return Turns


def await_turn(running: Running, fused: bool) -> float:
    """How long it took to be what is wanted now."""
    begun_s = time.monotonic()
    while bool(running.plan.fused) != fused or running.plant.reached(running.plan) != running.plan.pools.keys():
        if time.monotonic() > begun_s + PATIENCE_S:
            raise SystemExit(f"error: not {'fused' if fused else 'split'} within {PATIENCE_S:.0f} s")
        running.wait(0.1)
    return time.monotonic() - begun_s


def latency(running: Running, settle_s: float, measure_s: float) -> tuple[float, int]:
    """Mean latency of all words that are counted in the next `measure_s`, and in how many batches."""
    running.wait(settle_s)
    begun_s = time.time()
    running.wait(measure_s)
    seen = [b.latency for b in running.runtime.batches("count") if b.started_s >= begun_s and b.latency is not None]
    return float(np.average([each.mean_s for each in seen], weights=[each.count for each in seen])), len(seen)


def turns(running: Running, turn: Turn, rounds: int, settle_s: float, measure_s: float) -> list[float]:
    """Latencies, apart and fused in turns, beginning and ending apart."""
    found: list[float] = []
    for number in range(2 * rounds + 1):
        fused = turn.fused = bool(number % 2)
        took_s = await_turn(running, fused)
        mean_s, batches = latency(running, settle_s, measure_s)
        found.append(mean_s)
        change = f"changed in {took_s:.1f} s" if number else "started"
        print(f"{'fused' if fused else 'apart':6} {mean_s:6.2f} s in {batches:3d} batches; {change}", flush=True)
    return found


def ratio(latencies: Sequence[float]) -> str:
    """Of each fused turn to the mean of its neighbours, in the mean of their logarithms."""
    apart, fused = np.array(latencies[::2]), np.array(latencies[1::2])
    logs = np.log(fused / ((apart[:-1] + apart[1:]) / 2))
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.inf
    low, mean, high = np.exp([logs.mean() - half, logs.mean(), logs.mean() + half])
    return f"fused / apart: {mean:.2f} ({low:.2f} to {high:.2f})"


def run(folder: Path, rate: float, rounds: int, settle_s: float, measure_s: float) -> None:
    inbox, turn = folder / "sentences", Turn()
    feeder = Feeder(inbox, Constant(rate), sentences(zipf(200, 0.9), np.random.default_rng(3), words=WORDS))
    with EmbeddedCluster([Node("one", cores=8, memory="6g")]) as cluster, quiet_spark(folder / "spark.log"):
        running = start(
            word_count(inbox, substreams=2),
            policy=following(turn),
            directory=folder / "run",
            cluster=cluster,
            settings=dict.fromkeys(
                ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"), QUICK_TO_START
            ),
        )
        with running:
            with feeder:
                running.wait(WARM_UP_S)
                print(ratio(turns(running, turn, rounds, settle_s, measure_s)), flush=True)
            running.runtime.drain()
            rows = running.runtime.results("count").groupBy("word").agg({"count": "max"}).collect()
    counted, fed = sum(row[1] for row in rows), WORDS * feeder.fed
    print(f"words counted: {counted:,} of {fed:,}{'' if counted == fed else '  WRONG'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200.0, help="sentences per second")
    parser.add_argument("--rounds", type=int, default=4, help="fused turns")
    parser.add_argument("--settle", type=float, default=10.0, help="seconds after a change that are not measured")
    parser.add_argument("--measure", type=float, default=20.0, help="seconds of each turn that are measured")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run(Path(folder), asked.rate, asked.rounds, asked.settle, asked.measure)


if __name__ == "__main__":
    main()
