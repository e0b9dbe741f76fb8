"""Decision benchmark: the time a policy takes to decide. The aim is under 100 ms.

Run with `python -m bench.decision`. A chain of 100 keyed operators with 1,000 executors and 10,000 substreams in total,
on 100 nodes. Each decision is timed on a new snapshot as in the loop, in processor time, without measuring and
journalling. Turns in which a policy only waits for its next sample are left out.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from time import process_time
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from rheostat.decision import Hold
from rheostat.measure.measurer import Measurer
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy, policies
from rheostat.sla import SLA, Budget, Goal
from rheostat.snapshot import NodeState, Snapshot
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

OPERATORS, EXECUTORS, SUBSTREAMS, NODES = 100, 1_000, 10_000, 100
TURNS, PERIOD_S = 40, 10.0
IDLE_S = 0.0005
"""A shorter time means that the policy only waited."""

CASES: dict[str, Mapping[str, Any]] = {
    "threshold": {},
    "drs": {},
    "drs, K_max": {"problem": "k_max"},
    "drs, as published": {"model": "mmk", "arrivals": "measured", "margin": 0, "reallocation_cost": 0, "surge": False},
    "drs-lb": {},
    "streamswitch": {},
    "pa-sps": {},
    "pa-sps, linear": {"predictor": "linear"},
    "psps": {},
    "dabs": {},
    "ra-stream": {},
}
"""Policies, named before the comma, and their options."""


def main() -> None:
    table = Table(title=f"{OPERATORS} operators, {EXECUTORS:,} executors, {SUBSTREAMS:,} substreams: ms per decision")
    for column in ("policy", "median", "max", "first", "actions", "median under 100 ms"):
        table.add_column(column, justify="left" if column == "policy" else "right")
    observations = recorded()
    for case, options in CASES.items():
        if case.partition(",")[0] in policies():
            table.add_row(case, *row(timed(case.partition(",")[0], options, observations)))
    Console().print(table)


@dataclass(frozen=True)
class Timed:
    """One decision: its processor time, and whether it was more than a hold."""

    processor_s: float
    is_action: bool


def row(decisions: list[Timed]) -> tuple[str, ...]:
    first, *others = decisions
    active = [each for each in others if each.processor_s > IDLE_S] or others
    typical_s = median(each.processor_s for each in active)
    numbers_s = (typical_s, max(each.processor_s for each in active), first.processor_s)
    actions = sum(each.is_action for each in decisions)
    return *(f"{1e3 * value_s:.1f}" for value_s in numbers_s), str(actions), "yes" if typical_s < 0.1 else "no"


def goal() -> Goal:
    names = ["in", *(f"op{number}" for number in range(OPERATORS))]
    substreams = SUBSTREAMS // OPERATORS
    parts = [Operator(name, inputs=before, key="key", substreams=substreams) for before, name in pairwise(names)]
    return Goal(Topology("line", [Source("in"), *parts]), (SLA("200s", "1m"),), Budget(2 * EXECUTORS))


def recorded() -> list[Observation]:
    """The observations of a loop without actions under a varying load."""
    wanted = goal()
    plan = Plan.initial(wanted.topology, EXECUTORS // OPERATORS)
    measurer = Measurer(wanted.topology)
    plant = FakePlant(wanted.topology, arrival_rate=_load, service_rate=100.0, plan=plan)
    observations = []
    for turn in range(TURNS):
        plant.clock.wait_until(turn * PERIOD_S)
        snapshot = on_nodes(plant.observe())
        observations.append(Observation(snapshot, measurer.update(snapshot, plan), plan))
    return observations


def on_nodes(snapshot: Snapshot) -> Snapshot:
    """`snapshot` with the executors spread over nodes."""
    nodes = [NodeState(f"node{number}", slots=2 * EXECUTORS // NODES, cores=16.0) for number in range(NODES)]
    executors = [
        msgspec.structs.replace(executor, node=nodes[position % NODES].name, process=0)
        for position, executor in enumerate(snapshot.executors)
    ]
    return msgspec.structs.replace(snapshot, executors=tuple(executors), nodes=tuple(nodes))


def _load(time_s: float) -> float:
    return 100.0 * EXECUTORS / OPERATORS * (0.8 + 0.3 * math.sin(time_s / 60.0))


def timed(name: str, options: Mapping[str, Any], observations: list[Observation]) -> list[Timed]:
    policy = make_policy(name, goal(), options)
    found = []
    for observation in observations:
        start_s = process_time()
        decisions = policy.decide(observation)
        processor_s = process_time() - start_s
        found.append(Timed(processor_s, not all(isinstance(decision, Hold) for decision in decisions)))
    return found


if __name__ == "__main__":
    main()
