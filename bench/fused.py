"""Fusion benchmark: latency of word count fused into one query, compared with two queries, in one run.

Run with `python -m bench.fused`. Sentences arrive at a constant rate. Splitting and counting are fused and split again
in alternating phases while the pipeline runs; latency is measured from entry to the commit of the count, after each
change has settled. It prints the latency of each phase, the ratio of each fused phase to the two around it with its 95
% confidence interval, the duration of changes, and whether the final counts are exact. Separate operators have two
pools of one executor, fused operators have one pool.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench._drain import drain
from scipy import stats

from rheostat.decision import Decision, Fuse, Split
from rheostat.load import Constant
from rheostat.load.skew import zipf
from rheostat.pipeline import Pipeline, start
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.spark.processes.driver_output import spark_output_to
from rheostat.spark.target import FAST_START_SETTINGS, SparkTarget
from rheostat.workloads.feeder import Feeder
from rheostat.workloads.wordcount import sentences, word_count

WORDS = 5
CHANGE_TIMEOUT_S = 600.0
WARM_UP_S = 45.0
"""Time for the first executors to start and to drain the backlog of the start."""


@dataclass
class Phase:
    """What the policy should do now."""

    fused: bool = False


def following(phase: Phase) -> type[Policy]:
    """A policy that fuses and splits according to `phase`."""

    class Phases(Policy):
        name = "phases"
        summary = "fuses or splits according to the current phase"

        def decide(self, observation: Observation) -> Sequence[Decision]:
            if phase.fused == bool(observation.plan.fused):
                return []
            if phase.fused:
                return [Fuse(operators=("split", "count"), reason="new phase")]
            return [Split(operators=("split", "count"), reason="new phase")]

    return Phases


def await_change(running: Pipeline, fused: bool) -> float:
    """Wait until the operators are fused or split; returns how long it took."""
    start_s = time.monotonic()
    while bool(running.plan.fused) != fused or running.plant.reached(running.plan) != running.plan.pools.keys():
        if time.monotonic() > start_s + CHANGE_TIMEOUT_S:
            raise SystemExit(f"error: not {'fused' if fused else 'split'} within {CHANGE_TIMEOUT_S:.0f} s")
        running.wait(0.1)
    return time.monotonic() - start_s


def latency(running: Pipeline, settle_s: float, measure_s: float) -> tuple[float, int]:
    """Mean latency of all words that are counted in the next `measure_s`, and the number of batches."""
    running.wait(settle_s)
    start_s = time.time()
    running.wait(measure_s)
    seen = [b.latency for b in running.runtime.batches("count") if b.started_s >= start_s and b.latency is not None]
    return float(np.average([each.mean_s for each in seen], weights=[each.count for each in seen])), len(seen)


def phases(running: Pipeline, phase: Phase, rounds: int, settle_s: float, measure_s: float) -> list[float]:
    """Latencies of alternating phases, starting and ending with separate queries."""
    found: list[float] = []
    for number in range(2 * rounds + 1):
        fused = phase.fused = bool(number % 2)
        took_s = await_change(running, fused)
        mean_s, batches = latency(running, settle_s, measure_s)
        found.append(mean_s)
        change = f"changed in {took_s:.1f} s" if number else "started"
        print(f"{'fused' if fused else 'separate':9} {mean_s:6.2f} s in {batches:3d} batches; {change}", flush=True)
    return found


def ratio(latencies: Sequence[float]) -> str:
    """The ratio of each fused phase to the mean of its neighbours, as a geometric mean."""
    separate, fused = np.array(latencies[::2]), np.array(latencies[1::2])
    logs = np.log(fused / ((separate[:-1] + separate[1:]) / 2))
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.inf
    low, mean, high = np.exp([logs.mean() - half, logs.mean(), logs.mean() + half])
    return f"fused / separate: {mean:.2f} ({low:.2f} to {high:.2f})"


def run(folder: Path, rate: float, rounds: int, settle_s: float, measure_s: float) -> None:
    inbox, phase = folder / "sentences", Phase()
    feeder = Feeder(inbox, Constant(rate), sentences(zipf(200, 0.9), np.random.default_rng(3), words=WORDS))
    with EmbeddedCluster([Node("one", cores=8, memory="6g")]) as cluster, spark_output_to(folder / "spark.log"):
        running = start(
            word_count(inbox, substreams=2),
            policy=following(phase),
            directory=folder / "run",
            on=SparkTarget(cluster=cluster, settings=FAST_START_SETTINGS),
        )
        with running:
            with feeder:
                running.wait(WARM_UP_S)
                print(ratio(phases(running, phase, rounds, settle_s, measure_s)), flush=True)
            drain(running.runtime)
            rows = running.runtime.results("count").groupBy("word").agg({"count": "max"}).collect()
    counted, fed = sum(row[1] for row in rows), WORDS * feeder.fed
    print(f"words counted: {counted:,} of {fed:,}{'' if counted == fed else '  WRONG'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200.0, help="sentences per second")
    parser.add_argument("--rounds", type=int, default=4, help="number of fused phases")
    parser.add_argument("--settle", type=float, default=10.0, help="seconds after each change that are not measured")
    parser.add_argument("--measure", type=float, default=20.0, help="seconds of each phase that are measured")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run(Path(folder), arguments.rate, arguments.rounds, arguments.settle, arguments.measure)


if __name__ == "__main__":
    main()
