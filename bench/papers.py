"""Papers' points on Spark: each paper's policy on its own application, beside what the paper compares it with.

Run with `python -m bench.papers [drs|streamswitch|pa-sps|ra-stream|dabs ...] [--traces DIR]`: about four minutes for
each policy. Rates are small enough for two cores; where a point needs more work than these can do, some operators wait
in addition to their own work, as the papers limit rates. Beside each run on Spark stands what the simulator predicts
for it, by the application's scenario with the same load, SLA, budget, start, waits and policy. With `--traces` the rate
of PA-SPS is a recorded one, `twitter_volume_fb.csv`.
"""

import argparse
import functools
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from bench._trial import PERIOD_S, Contender, Trial
from pyspark.sql import DataFrame

from rheostat.cli.run_history import RunHistory
from rheostat.duration import seconds
from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.load.configuration import shape_from
from rheostat.loop.turn import Turn
from rheostat.sla import SLA, Budget
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.spark.query.per_record.record_function import Record, RecordFunction
from rheostat.topology import Operator, Topology
from rheostat.workloads.application import application
from rheostat.workloads.orders import RESTING
from rheostat.workloads.sensitive import ROUNDS

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "applications"
NODES = 4


Wait = float | tuple[str, tuple[float, ...]]
"""Seconds that each record takes in addition: the same for all, or a column and the seconds by its value."""


@dataclass(frozen=True)
class Case:
    """One paper's point: an application under a load, and the policies that are compared on it."""

    point: str
    application: str
    load: dict[str, Any]
    sla: str
    executors: dict[str, int]
    budget: int
    contenders: Mapping[str, Contender]
    waits: Mapping[str, Wait] = field(default_factory=dict)
    recorded: dict[str, Any] | None = None
    """The load if there are recorded traces."""
    substreams: int | None = None
    """Of keyed operators, if not as many as usual: each is a task, and two cores carry few."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the application's topology."""


DURATION_S = 160.0
CASES = {
    "drs": Case(
        "out of a bad allocation, and along changing frame rates",
        "vld",
        {"shape": "step", "steps": [[0, 2], ["40s", 4], ["80s", 6], ["120s", 2]]},
        "10s/30s",
        {"extract": 1, "match": 3, "aggregate": 1},
        7,
        {"drs": Contender("drs"), "fixed 1:3:1": Contender("static")},
        {"extract": 0.25, "match": 0.003},
    ),
    "streamswitch": Case(
        "through two openings with skewed stocks",
        "orders",
        {"shape": "opening_auction", "base": 8, "factors": [20, 15], "decay": "10s", "session": "80s"},
        "15s/30s",
        {"accept": 1, "match": 2},
        7,
        {"streamswitch": Contender("streamswitch"), "drs": Contender("drs"), "fixed 1:2": Contender("static")},
        {"match": 0.02},
        substreams=8,
        options={"resting": RESTING},
    ),
    "pa-sps": Case(
        "a rate that changes much, forecast or not",
        "twitter",
        {"shape": "erratic", "low": 20, "high": 140, "interval": "20s", "seed": 1},
        "10s/30s",
        {"clean": 1, "topic": 1, "author": 1, "store": 1},
        10,
        {"pa-sps": Contender("pa-sps"), "psps": Contender("psps"), "fixed r = 1": Contender("static")},
        {"clean": 0.01, "topic": 0.035, "author": 0.025, "store": 0.01},
        {"csv": "twitter_volume_fb.csv", "unit": "count", "start": "650h", "length": "48h",
         "duration": f"{DURATION_S:g}s", "peak": 150},
    ),
    "ra-stream": Case(
        "few nodes instead of an even spread",
        "debs2024",
        {"shape": "step", "steps": [[0, 60], ["40s", 100], ["80s", 150], ["120s", 90]]},
        "15s/30s",
        {"filter": 1, "detect": 1, "aggregate": 1, "store": 1, "anomaly": 1, "alert": 1},
        6,
        {"ra-stream": Contender("ra-stream", {"frame": "20s", "horizon": "2m"}), "even": Contender("static")},
    ),
    "dabs": Case(
        "records grouped by what they cost",
        "opinions",
        {"shape": "progressive", "low": 20, "high": 100, "rise": "50s", "plateau": "50s", "fall": "50s"},
        "15s/30s",
        {"dispatch": 1, "locate": 2, "cities": 1, "ages": 1, "persist": 1},
        9,
        {"dabs, osg": Contender("dabs", {"grouping": "osg"}),
         "dabs, round robin": Contender("dabs", {"grouping": "round-robin"})},
        {"locate": ("code", tuple(1e-5 * rounds for rounds in ROUNDS))},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Waiting:
    """A function on single records that takes longer."""

    function: Callable[[Record], Iterable[Any] | None]
    wait: Wait

    def __call__(self, record: Record) -> Iterable[Any] | None:
        time.sleep(self.wait if isinstance(self.wait, float) else self.wait[1][record[self.wait[0]]])
        return self.function(record)


def waiting(topology: Topology, waits: Mapping[str, Wait]) -> Topology:
    """The same topology with operators that wait for each record; keyed ones for each that they write."""

    def with_wait(part: Any) -> Any:
        if not isinstance(part, Operator) or part.name not in waits:
            return part
        function, wait = part.function, waits[part.name]
        if isinstance(function, RecordFunction):
            return replace(part, function=replace(function, function=Waiting(function.function, wait)))
        assert function is not None
        assert isinstance(wait, float)
        return replace(part, function=waiting_frame(function, wait))

    return Topology(topology.name, [with_wait(part) for part in topology.parts])


def waiting_frame(function: Callable[..., DataFrame], wait_s: float) -> Callable[..., DataFrame]:
    @functools.wraps(function)
    def run(*inputs: DataFrame) -> DataFrame:
        df = function(*inputs)
        return df.mapInArrow(wait_for_rows, df.schema)

    def wait_for_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(wait_s * batch.num_rows)
            yield batch

    return run


class NodeCount:
    """Listens to the loop and counts the nodes that have executors of a pool."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def __call__(self, turn: Turn) -> None:
        if turn.snapshot is not None:
            nodes = {executor.node for executor in turn.snapshot.executors if executor.node is not None}
            self.counts += [len(nodes)] if nodes else []


def run(case: Case, traces: Path | None) -> None:
    if traces is not None and case.recorded is not None:
        case = replace(case, load=case.recorded)
    found, sla = application(case.application), SLA.parse(case.sla)
    options = dict(case.options) | ({} if case.substreams is None else {"substreams": case.substreams})
    trial = Trial(
        lambda folder: waiting(found.topology(folder, **options), case.waits), shape_from(case.load, traces=traces),
        lambda: found.generate(1), sla, DURATION_S, case.executors, Budget(case.budget), trickle=2.0,
    )  # fmt: skip
    print(f"\n{case.application}: {case.point}; SLA {sla}, {case.budget} executors at most")
    print(f"{'':20}{'SLA met':>10}{'latency':>10}{'executor-s':>12}{'decisions':>11}{'nodes':>7}{'predicted':>30}")
    with EmbeddedCluster([Node(f"node{n}", cores=4, memory="4g") for n in range(NODES)]) as cluster:
        for name, contender in case.contenders.items():
            nodes = NodeCount()
            history = trial.run(cluster, contender, listeners=[nodes])
            print(
                f"{name:20}{measured(history, sla)}{np.mean(nodes.counts):7.1f}{predicted(case, contender, traces)}",
                flush=True,
            )


def measured(history: RunHistory, sla: SLA) -> str:
    rate, done = history.success_rate(sla, PERIOD_S), sum(turn.completed for turn in history.turns)
    latency_s = sum(turn.completed * (turn.latency_s or 0.0) for turn in history.turns) / max(1, done)
    met = "-" if rate is None else f"{100 * rate:.1f} %"
    return f"{met:>10}{latency_s:8.1f} s{history.executor_seconds():12,.0f}{len(history.decisions()):11}"


def predicted(case: Case, contender: Contender, traces: Path | None) -> str:
    """What the simulator says of the same run."""
    content = tomllib.loads((SCENARIOS / f"{case.application}.toml").read_text(encoding="utf-8"))
    sla = SLA.parse(case.sla)
    content |= {
        "duration": DURATION_S,
        "sla": [{"latency": sla.latency_s, "window": sla.window_s}],
        "budget": {"total": case.budget},
        "source": [{**table, "load": case.load} for table in content["source"]],
        "operator": [
            {**table, "executors": case.executors[table["name"]], "service": service(case, table), **keyed(case, table)}
            for table in content["operator"]
        ],
        "policy": {"name": contender.policy, "options": dict(contender.options)},
    }
    result = simulate(make_scenario(msgspec.convert(content, ScenarioFile), SCENARIOS, traces))
    met = "-" if result.success_rate is None else f"{100 * result.success_rate:.1f} %"
    return f"{met:>10}{result.mean_latency_s or float('nan'):8.1f} s{result.executor_seconds:10,.0f}"


def keyed(case: Case, operator: Mapping[str, Any]) -> dict[str, int]:
    return {"substreams": case.substreams} if case.substreams is not None and "key" in operator else {}


def service(case: Case, operator: Mapping[str, Any]) -> Mapping[str, Any]:
    """The service times of the scenario, with what records wait in addition."""
    wait = case.waits.get(operator["name"])
    own_s, drawn = seconds(operator["service"]["mean"]), application(case.application).generate(1)
    match wait:
        case None:
            return operator["service"]
        case float():
            return {"mean": own_s + wait, "distribution": "fixed"}
        case column, by_value:
            waits = [by_value[drawn(0.0)[column]] for _ in range(4000)]
            mean_s, variance = float(np.mean(waits)), float(np.var(waits))
            return {"mean": own_s + mean_s, "distribution": "lognormal", "scv": variance / mean_s**2}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", default=list(CASES), metavar="PAPER", help=", ".join(CASES))
    parser.add_argument("--traces", type=Path, help="folder of recorded rates")
    arguments = parser.parse_args()
    for name in arguments.papers:
        if name not in CASES:
            parser.error(f"no paper is called {name!r}; there are: {', '.join(CASES)}")
        run(CASES[name], arguments.traces)


if __name__ == "__main__":
    main()
