"""How long a policy takes to decide: `python -m bench.decision`. The aim is under 100 ms.

100 keyed operators in line with 1,000 executors and 10,000 substreams in all. Each decision is timed on a fresh
snapshot, as in the loop, in processor time and without the loop's own work of measuring and journalling.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from statistics import median
from time import process_time
from typing import Any

from rich.console import Console
from rich.table import Table

from rheostat.decision import Hold
from rheostat.measure.rates import Measurer
from rheostat.plan import Plan
from rheostat.policies.policy import Observation
from rheostat.policies.registry import make_policy, policies
from rheostat.sla import SLA, Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

OPERATORS, EXECUTORS, SUBSTREAMS = 100, 1_000, 10_000
TURNS, PERIOD_S = 40, 10.0
CASES: dict[str, Mapping[str, Any]] = {
    "threshold": {},
    "drs": {},
    "drs, K_max": {"problem": "k_max"},
    "drs, as printed": {"model": "mmk", "arrivals": "measured", "margin": 0, "reallocation_cost": 0},
    "drs-lb": {},
    "streamswitch": {},
}
"""Policies, each by the name before a comma, and their options."""


def main() -> None:
    table = Table(title=f"{OPERATORS} operators, {EXECUTORS:,} executors, {SUBSTREAMS:,} substreams: ms a decision")
    for column in ("policy", "median", "most", "first", "acts", "median under 100 ms"):
        table.add_column(column, justify="left" if column == "policy" else "right")
    observations = recorded()
    for case, options in CASES.items():
        if case.partition(",")[0] in policies():
            table.add_row(case, *row(*timed_s(case.partition(",")[0], options, observations)))
    Console().print(table)


def row(times_s: list[float], acts: int) -> tuple[str, ...]:
    numbers = (f"{1e3 * value_s:.1f}" for value_s in (median(times_s[1:]), max(times_s[1:]), times_s[0]))
    return *numbers, str(acts), "yes" if median(times_s[1:]) < 0.1 else "no"


def goal() -> Goal:
    names = ["in", *(f"op{number}" for number in range(OPERATORS))]
    substreams = SUBSTREAMS // OPERATORS
    parts = [Operator(name, inputs=before, key="key", substreams=substreams) for before, name in pairwise(names)]
    return Goal(Topology("line", [Source("in"), *parts]), (SLA("200s", "1m"),), Budget(2 * EXECUTORS))


def recorded() -> list[Observation]:
    """What a loop would show a policy while the load swings and nobody acts."""
    wanted = goal()
    plan = Plan.initial(wanted.topology, EXECUTORS // OPERATORS)
    measurer = Measurer(wanted.topology)
    plant = FakePlant(wanted.topology, arrival_rate=_load, service_rate=100.0, plan=plan)
    observations = []
    for turn in range(TURNS):
        plant.clock.wait_until(turn * PERIOD_S)
        snapshot = plant.observe()
        observations.append(Observation(snapshot, measurer.update(snapshot, plan), plan))
    return observations


def _load(time_s: float) -> float:
    return 100.0 * EXECUTORS / OPERATORS * (0.8 + 0.3 * math.sin(time_s / 60.0))


def timed_s(name: str, options: Mapping[str, Any], observations: list[Observation]) -> tuple[list[float], int]:
    """Seconds for each decision, and how many of them were more than a hold."""
    policy = make_policy(name, goal(), options)
    times_s, acts = [], 0
    for observation in observations:
        start_s = process_time()
        decisions = policy.decide(observation)
        times_s.append(process_time() - start_s)
        acts += not all(isinstance(decision, Hold) for decision in decisions)
    return times_s, acts


if __name__ == "__main__":
    main()
