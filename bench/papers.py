"""Papers' points on Spark: each paper's policy on its own application, beside what the paper compares it with.

Run with `python -m bench.papers [drs|streamswitch|pa-sps|ra-stream|dabs ...]`: some minutes for each policy. Rates are
small enough for two cores. Beside each run on Spark stands what the simulator predicts for it, by the application's
scenario with the same load, SLA, budget, start and policy.
"""

import argparse
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from bench._trial import PERIOD_S, Contender, Trial

from rheostat.cli.run_history import RunHistory
from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.load.configuration import shape_from
from rheostat.loop.turn import Turn
from rheostat.sla import SLA, Budget
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.workloads.application import application

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "applications"
NODES = 4


@dataclass(frozen=True)
class Case:
    """One paper's point: an application under a load, and the policies that are compared on it."""

    point: str
    application: str
    load: dict[str, Any]
    duration_s: float
    sla: str
    executors: dict[str, int]
    budget: int
    contenders: Mapping[str, Contender] = field(default_factory=dict)


CASES = {
    "drs": Case(
        "out of a bad allocation, and along changing frame rates",
        "vld",
        {"shape": "step", "steps": [[0, 2], ["60s", 4], ["120s", 6], ["180s", 2]]},
        240,
        "10s/30s",
        {"extract": 1, "match": 1, "aggregate": 2},
        8,
        {"drs": Contender("drs", {"t_min": "4s"}), "fixed 1:1:2": Contender("static")},
    ),
    "streamswitch": Case(
        "through an opening with skewed stocks",
        "orders",
        {"shape": "opening_auction", "base": 8, "factors": [40, 30], "decay": "15s", "session": "2m"},
        240,
        "15s/30s",
        {"accept": 1, "match": 2},
        7,
        {"streamswitch": Contender("streamswitch"), "drs": Contender("drs", {"t_min": "6s"}),
         "fixed 1:2": Contender("static")},
    ),
    "pa-sps": Case(
        "an erratic rate, forecast or not",
        "twitter",
        {"shape": "erratic", "low": 40, "high": 300, "interval": "20s", "seed": 1},
        240,
        "10s/30s",
        {"clean": 1, "topic": 1, "author": 1, "store": 1},
        10,
        {"pa-sps": Contender("pa-sps"), "psps": Contender("psps"), "fixed r = 1": Contender("static")},
    ),
    "ra-stream": Case(
        "few nodes instead of an even spread",
        "debs2024",
        {"shape": "step", "steps": [[0, 60], ["60s", 100], ["120s", 150], ["180s", 90]]},
        240,
        "15s/30s",
        {"filter": 1, "detect": 1, "aggregate": 1, "store": 1, "anomaly": 1, "alert": 1},
        6,
        {"ra-stream": Contender("ra-stream", {"frame": "20s", "horizon": "2m"}), "even": Contender("static")},
    ),
    "dabs": Case(
        "records grouped by what they cost",
        "opinions",
        {"shape": "progressive", "low": 40, "high": 200, "rise": "60s", "plateau": "60s", "fall": "60s"},
        240,
        "15s/30s",
        {"dispatch": 1, "locate": 2, "cities": 1, "ages": 1, "persist": 1},
        9,
        {"dabs, osg": Contender("dabs", {"grouping": "osg"}),
         "dabs, round robin": Contender("dabs", {"grouping": "round-robin"})},
    ),
}  # fmt: skip


class NodeCount:
    """Listens to the loop and counts the nodes that have executors of a pool."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def __call__(self, turn: Turn) -> None:
        if turn.snapshot is not None:
            nodes = {executor.node for executor in turn.snapshot.executors if executor.node is not None}
            self.counts += [len(nodes)] if nodes else []


def run(case: Case) -> None:
    found, sla = application(case.application), SLA.parse(case.sla)
    trial = Trial(
        found.topology, shape_from(case.load), lambda: found.generate(1), sla, case.duration_s, case.executors,
        Budget(case.budget), trickle=2.0,
    )  # fmt: skip
    print(f"\n{case.application}: {case.point}; SLA {sla}, {case.budget} executors at most")
    print(f"{'':20}{'SLA met':>10}{'latency':>10}{'executor-s':>12}{'decisions':>11}{'nodes':>7}{'predicted':>30}")
    with EmbeddedCluster([Node(f"node{n}", cores=4, memory="4g") for n in range(NODES)]) as cluster:
        for name, contender in case.contenders.items():
            nodes = NodeCount()
            history = trial.run(cluster, contender, listeners=[nodes])
            print(
                f"{name:20}{measured(history, sla)}{np.mean(nodes.counts):7.1f}{predicted(case, contender)}", flush=True
            )


def measured(history: RunHistory, sla: SLA) -> str:
    rate, done = history.success_rate(sla, PERIOD_S), sum(turn.completed for turn in history.turns)
    latency_s = sum(turn.completed * (turn.latency_s or 0.0) for turn in history.turns) / max(1, done)
    met = "-" if rate is None else f"{100 * rate:.1f} %"
    return f"{met:>10}{latency_s:8.1f} s{history.executor_seconds():12,.0f}{len(history.decisions()):11}"


def predicted(case: Case, contender: Contender) -> str:
    """What the simulator says of the same run."""
    content = tomllib.loads((SCENARIOS / f"{case.application}.toml").read_text(encoding="utf-8"))
    sla = SLA.parse(case.sla)
    content |= {
        "duration": case.duration_s,
        "sla": [{"latency": sla.latency_s, "window": sla.window_s}],
        "budget": {"total": case.budget},
        "source": [{**table, "load": case.load} for table in content["source"]],
        "operator": [{**table, "executors": case.executors[table["name"]]} for table in content["operator"]],
        "policy": {"name": contender.policy, "options": dict(contender.options)},
    }
    result = simulate(make_scenario(msgspec.convert(content, ScenarioFile), SCENARIOS))
    met = "-" if result.success_rate is None else f"{100 * result.success_rate:.1f} %"
    return f"{met:>10}{result.mean_latency_s or float('nan'):8.1f} s{result.executor_seconds:10,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", default=list(CASES), metavar="PAPER", help=", ".join(CASES))
    for name in parser.parse_args().papers:
        if name not in CASES:
            parser.error(f"no paper is called {name!r}; there are: {', '.join(CASES)}")
        run(CASES[name])


if __name__ == "__main__":
    main()
