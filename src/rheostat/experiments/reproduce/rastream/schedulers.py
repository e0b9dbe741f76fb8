"""Schedulers: the three that the paper compares, as policies with options."""

from typing import Any

from rheostat.experiments.reproduce.rastream.applications import NODE_HOP_MS, PROCESS_HOP_MS, WORKERS
from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.scenario import Scenario

RA_STREAM, SP_ANT, EVEN = "Ra-Stream", "SP-Ant", "EvenScheduler"
STRATEGIES = (RA_STREAM, SP_ANT, EVEN)
COLOURS = {RA_STREAM: "tab:blue", SP_ANT: "tab:orange", EVEN: "tab:green"}
FRAME_S = 30


def case(scenario: Scenario, strategy: str, **options: Any) -> Case:
    """`scenario` under one of the schedulers. The even one keeps the simulator's initial placement."""
    if strategy == EVEN:
        return Case(scenario, "static")
    settings = {
        "algorithm": "ra-stream" if strategy == RA_STREAM else "sp-ant",
        "frame": FRAME_S,
        "pause": "500ms",
        "process_cost": f"{PROCESS_HOP_MS}ms",
        "node_cost": f"{NODE_HOP_MS}ms",
        **WORKERS,
        **options,
    }
    return Case(scenario, "ra-stream", settings)
