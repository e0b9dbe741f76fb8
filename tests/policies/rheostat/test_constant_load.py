"""A constant load: at most one action in an hour after settling, whatever the load, the plant and the service times."""

import itertools
from pathlib import Path

import msgspec
import pytest

from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate

BUDGET = 8
SERVICE_S = 0.1
SETTLED_S = 600
LOADS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
MODES = ("batches", "own", "shared")
SERVICES = ("fixed", "uniform", "exponential")


def scenario(load, mode, service, *, keyed, duration):
    """A load in shares of what the budget can carry."""
    operator = {
        "name": "work",
        "inputs": ["records"],
        "executors": 2,
        "queues": mode,
        "service": {"mean": f"{SERVICE_S:g}s", "distribution": service},
    }
    if mode == "batches":
        operator["batches"] = {"fixed": "500ms", "per_task": "20ms"}
    if keyed:
        operator |= {"key": "word", "substreams": 32}
    source = {"name": "records", "load": load * BUDGET / SERVICE_S}
    if keyed:
        source["keys"] = {"zipf": 0.4, "keys": 2000}
    content = {
        "name": "test",
        "duration": duration,
        "period": "2s",
        "source": [source],
        "operator": [operator],
        "sla": [{"latency": "5s", "window": "30s"}],
        "budget": {"total": BUDGET},
        "cluster": {"start": "6s", "warm_up": "3s"},
    }
    return make_scenario(msgspec.convert(content, ScenarioFile), Path())


def actions_after_settling(made, seed):
    actions = []

    def note(turn):
        if turn.time_s > SETTLED_S:
            actions.extend((turn.time_s, v.decision) for v in turn.verdicts if v.ruling == "accepted")

    simulate(made, "rheostat", seed=seed, listeners=[note])
    return actions


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("load", [0.1, 0.3, 0.6, 0.95])
def test_a_constant_load_is_left_alone(load, mode):
    actions = actions_after_settling(scenario(load, mode, "exponential", keyed=False, duration="40m"), seed=2)
    assert len(actions) <= 1, actions


GRID = [
    (load, mode, service, keyed)
    for load, mode, service, keyed in itertools.product(LOADS, MODES, SERVICES, (False, True))
    if not (keyed and mode == "shared")
]


@pytest.mark.slow
@pytest.mark.parametrize(("load", "mode", "service", "keyed"), GRID)
def test_a_constant_load_is_left_alone_for_an_hour(load, mode, service, keyed):
    actions = actions_after_settling(scenario(load, mode, service, keyed=keyed, duration="70m"), seed=2)
    assert len(actions) <= 1, actions
