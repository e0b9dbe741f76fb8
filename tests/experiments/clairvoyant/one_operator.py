"""A scenario with one operator, for tests."""

from pathlib import Path

import msgspec

from rheostat.experiments.scenario import Scenario, ScenarioFile, make_scenario

SURGE = {"shape": "step", "steps": [[0, 100], ["60s", 300], ["120s", 100]]}


def scenario(load=200, *, latency="2s", window="8s", executors=2, total=None, duration="200s", **operator) -> Scenario:
    """Records of 10 ms at a regular rate, executors that take 5 s to start, turns of 1 s."""
    file = {
        "name": "one",
        "duration": duration,
        "source": [{"name": "in", "load": load, "arrivals": "regular"}],
        "operator": [
            {
                "name": "work",
                "inputs": ["in"],
                "executors": executors,
                "queues": "shared",
                "service": {"mean": "10ms", "distribution": "fixed"},
                **operator,
            }
        ],
        "sla": [{"latency": latency, "window": window}] if latency else [],
        "budget": {} if total is None else {"total": total},
        "cluster": {"start": "5s"},
    }
    return make_scenario(msgspec.convert(file, ScenarioFile), Path())
