"""Scenarios for tests of runs on Spark."""

import tomllib
from pathlib import Path

import msgspec

from rheostat.experiments.scenario import Scenario, ScenarioFile, make_scenario

BASE = """
name = "tiny"
duration = "20s"
period = "2s"

[[source]]
name = "records"
load = 20
arrivals = "regular"
keys = { zipf = 1.0, keys = 8 }

[[operator]]
name = "parse"
inputs = ["records"]
queues = "batches"
service = { mean = "20ms", distribution = "fixed" }

[[operator]]
name = "count"
inputs = ["parse"]
key = "word"
substreams = 4
queues = "batches"
service = { mean = "10ms", distribution = "fixed" }

[[sla]]
latency = "8s"
window = "10s"

[budget]
total = 4
"""


def scenario(text: str = BASE, **replaced: str) -> Scenario:
    """The scenario in `text`, with the given lines of `replaced` instead of theirs."""
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    return make_scenario(msgspec.convert(tomllib.loads(text), ScenarioFile), Path())


def changed(old: str, new: str) -> Scenario:
    """The base scenario with `new` in place of `old`."""
    return scenario(BASE, **{old: new})
