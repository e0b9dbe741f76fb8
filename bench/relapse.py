"""Relapse benchmark: cases in which a policy once misbehaved in the simulator, on Spark, next to no policy at all.

Run with `python -m bench.relapse [CASE ...]`. Each case takes about two minutes for each policy:

- `near-capacity`: a keyed operator near the capacity of its budget. Moves that do not cure must not make it worse.
- `executor-lost`: an executor is killed, and the load doubles while it is down. The others must be treated.
- `boundary`: a constant load near the boundary between two numbers of executors. There must be few changes.
- `shortage`: three operators and a budget for less than they want. None may be starved for good.
"""

import argparse
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from bench.random_failures import executor_processes

from rheostat.experiments.comparison.compared_run import ComparedRun
from rheostat.experiments.on_spark.run import run_on_spark
from rheostat.experiments.on_spark.shared_cluster import shared_cluster
from rheostat.experiments.scenario import Scenario, ScenarioFile, make_scenario
from rheostat.experiments.time_series import SeriesPoint
from rheostat.spark.cluster.embedded import EmbeddedCluster

BATCHES = {"fixed": "900ms", "per_task": "40ms"}
KILLED_AT_S = 30.0


@dataclass(frozen=True)
class Case:
    """A scenario, and the policies that run it. `killed_at_s` is when an executor is killed."""

    scenario: Callable[[], Scenario]
    policies: tuple[str, ...]
    killed_at_s: float | None = None


def scenario(name: str, load: Any, operators: list[dict[str, Any]], total: int, sla: str = "5s") -> Scenario:
    """Two minutes of `load` on operators in line, whose service times are emulated by sleeping."""
    names = ["records", *(operator["name"] for operator in operators)]
    lined = [
        {"inputs": [before], "queues": "batches", "batches": BATCHES, **operator}
        for before, operator in zip(names, operators, strict=False)
    ]
    fields = {
        "name": name,
        "duration": "2m",
        "period": "2s",
        "source": [{"name": "records", "load": load, "keys": {"zipf": 0.8, "keys": 64}}],
        "operator": lined,
        "sla": [{"latency": sla, "window": "10s"}],
        "budget": {"total": total},
    }
    return make_scenario(msgspec.convert(fields, ScenarioFile), Path())


def near_capacity() -> Scenario:
    keyed = {"key": "key", "substreams": 16, "executors": 4, "service": {"mean": "40ms"}}
    return scenario("near capacity", 60, [{"name": "work", **keyed}], total=4)


def executor_lost() -> Scenario:
    load = {"shape": "step", "steps": [[0, 25], ["30s", 50]]}
    return scenario("executor lost", load, [{"name": "work", "executors": 3, "service": {"mean": "40ms"}}], total=8)


def boundary() -> Scenario:
    return scenario("boundary", 46, [{"name": "work", "executors": 3, "service": {"mean": "40ms"}}], total=8)


def shortage() -> Scenario:
    costs = {"one": "50ms", "two": "60ms", "three": "40ms"}
    operators = [{"name": name, "executors": 2, "service": {"mean": mean}} for name, mean in costs.items()]
    return scenario("shortage", 36, operators, total=9, sla="15s")


CASES = {
    "near-capacity": Case(near_capacity, ("streamswitch", "drs-lb", "rheostat", "static")),
    "executor-lost": Case(executor_lost, ("streamswitch", "drs", "rheostat", "static"), killed_at_s=KILLED_AT_S),
    "boundary": Case(boundary, ("drs", "rheostat")),
    "shortage": Case(shortage, ("dabs", "rheostat")),
}
STARTING_SIZES: Mapping[str, dict[str, Any]] = {
    "near capacity": {"executors": {"work": 4}},
    "executor lost": {"executors": {"work": 3}},
}
"""What `static` has: as many as the policies start with."""


_HEADER = f"{'':14}{'SLA met':>8}{'latency':>11}{'missed for':>11}{'scalings':>10}{'moves':>7}  at the end"


class Killer:
    """Kills the newest executor of the cluster once, when so much of the load has passed."""

    def __init__(self, cluster: EmbeddedCluster, at_s: float) -> None:
        self._folder = cluster.logs.parent
        self._at_s = at_s
        self._is_done = False

    def __call__(self, passed_s: float) -> None:
        if passed_s >= self._at_s and not self._is_done:
            self._is_done = True
            os.kill(executor_processes(self._folder)[-1][1], signal.SIGKILL)


def print_run(run: ComparedRun) -> None:
    """What came of a run, and its sizes over time."""
    met = "-" if run.success_rate is None else f"{run.success_rate:.0%}"
    times = f"{run.mean_latency_s or 0.0:9.1f} s{run.out_of_sla_s:9.0f} s"
    last = sizes(run.series[-1]) if run.series else "-"
    print(f"{run.policy:14}{met:>8}{times}{run.scalings:10}{run.moves:7}  {last}")
    for point in run.series[:1] + tuple(now for before, now in pairwise(run.series) if sizes(now) != sizes(before)):
        print(f"{point.time_s:18.0f} s  {point.input_rate or 0.0:5.0f} records/s  {sizes(point)}", flush=True)


def sizes(point: SeriesPoint) -> str:
    return ", ".join(f"{name} {size}" for name, size in point.executors.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="a case to run; without any, all")
    names = parser.parse_args().cases or list(CASES)
    if unknown := [name for name in names if name not in CASES]:
        parser.error(f"no case is called {unknown[0]!r}; there are: {', '.join(CASES)}")
    with shared_cluster() as shared:
        for name in names:
            case = CASES[name]
            print(f"\n{name}\n{_HEADER}", flush=True)
            for policy in case.policies:
                wanted = case.scenario()
                killer = None if case.killed_at_s is None else Killer(shared.started(), case.killed_at_s)
                options = STARTING_SIZES[wanted.name] if policy == "static" else {}
                print_run(run_on_spark(wanted, policy, options, progress=killer))


if __name__ == "__main__":
    main()
