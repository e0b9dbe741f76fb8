"""Replay benchmark: speed of writing and replaying a journal.

Run with `python -m bench.replay`. The aim: 100,000 snapshots of 4 operators with 8 executors and 64 substreams each in
under 30 s on one core.
"""

import argparse
import math
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import msgspec

from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.plan import Plan
from rheostat.policies.registry import make_policy
from rheostat.replay import replay
from rheostat.sla import Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

PERIOD_S = 10.0


def pipeline(operators: int, substreams: int) -> Topology:
    """A chain of keyed operators."""
    names = ["in", *(f"op{number}" for number in range(operators))]
    parts = [Operator(name, inputs=before, key="key", substreams=substreams) for before, name in pairwise(names)]
    return Topology("line", [Source("in"), *parts])


def record(path: Path, snapshots: int, operators: int, executors: int, substreams: int) -> float:
    """Seconds per turn of the loop, with a journal on disk."""
    topology = pipeline(operators, substreams)
    goal = Goal(topology, budget=Budget(least=dict.fromkeys(topology.operators, executors - 1)))
    rate = lambda time_s: 100.0 * executors * (0.6 + 0.3 * math.sin(time_s / 3600))  # noqa: E731
    plant = FakePlant(topology, arrival_rate=rate, plan=Plan.initial(topology, executors))
    with Journal(path) as journal:
        policy = make_policy("threshold", goal, {"high": 0.85, "low": 0.3})
        controller = Controller(
            plant, policy, goal, journal, LoopOptions(PERIOD_S), plan=Plan.initial(topology, executors)
        )
        start_s = time.perf_counter()
        controller.run(for_=PERIOD_S * (snapshots - 1))
        return (time.perf_counter() - start_s) / snapshots


def decoding(path: Path, snapshots: int) -> float:
    """Seconds to read and decode a snapshot, without a policy."""
    with Journal(path, read_only=True) as journal:
        start_s = time.perf_counter()
        for _ in journal.recorded(1):
            pass
        return (time.perf_counter() - start_s) / snapshots


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("snapshots", 100_000), ("operators", 4), ("executors", 8), ("substreams", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bench.journal"
        turn_s = record(path, arguments.snapshots, arguments.operators, arguments.executors, arguments.substreams)
        decode_s = decoding(path, arguments.snapshots)
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        report = replay(path)
        took_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
        size = path.stat().st_size
        with Journal(path, read_only=True) as journal:
            body = len(msgspec.json.encode(next(journal.recorded(1)).snapshot))
    print(f"journal     {size / arguments.snapshots / 1e3:8.2f} kB per snapshot ({body / 1e3:.2f} kB of it JSON)")
    print(f"turn        {turn_s * 1e6:8.0f} us with the fake plant and the journal")
    print(f"decoding    {decode_s * 1e6:8.0f} us per snapshot")
    print(f"replay      {took_s / arguments.snapshots * 1e6:8.0f} us per snapshot")
    print(f"all {report.snapshots} snapshots in {took_s:.1f} s ({cpu_s:.1f} s of processor time)")
    assert not report.differences, "the same policy made other decisions"


if __name__ == "__main__":
    main()
