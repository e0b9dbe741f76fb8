from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from rheostat.experiments.clairvoyant.fixed_sizes import cheapest_fixed
from rheostat.experiments.clairvoyant.schedule import TARGET
from rheostat.experiments.scenario import Scenario, ScenarioFile, make_scenario, read_scenario
from rheostat.experiments.simulate import simulate

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def two_operators(rate: float, services: tuple[str, str], latency: str, fixed: str = "100ms") -> Scenario:
    batches = {"queues": "batches", "batches": {"fixed": fixed, "per_task": "10ms"}}
    file = {
        "name": "two",
        "duration": "60s",
        "source": [{"name": "in", "load": rate}],
        "operator": [
            {"name": "first", "inputs": ["in"], "service": {"mean": services[0]}, **batches},
            {"name": "second", "inputs": ["first"], "service": {"mean": services[1]}, **batches},
        ],
        "sla": [{"latency": latency, "window": "10s"}],
        "budget": {"total": 9},
    }
    return make_scenario(msgspec.convert(file, ScenarioFile), Path())


def is_met(scenario: Scenario, sizes: dict[str, int]) -> bool:
    model = scenario.model
    operators = {name: msgspec.structs.replace(model.operator(name), executors=size) for name, size in sizes.items()}
    result = simulate(replace(scenario, model=replace(model, operators=operators)), "static")
    return (result.success_rate or 0.0) >= TARGET


def check_that_nothing_cheaper_meets_it(scenario: Scenario) -> None:
    found = cheapest_fixed(scenario)
    assert found.is_met
    first, second = found.sizes
    total = sum(found.sizes.values())
    assert found.executor_seconds == total * scenario.duration_s
    for one in range(1, total - 1):
        for other in range(1, total - one):
            assert not is_met(scenario, {first: one, second: other}), (one, other, found.sizes)


@pytest.mark.parametrize(
    ("rate", "services", "latency"),
    [(100, ("20ms", "20ms"), "2s"), (60, ("40ms", "5ms"), "2s"), (80, ("5ms", "40ms"), "1500ms")],
)
def test_no_cheaper_sizes_of_two_operators_meet_the_sla(rate, services, latency):
    check_that_nothing_cheaper_meets_it(two_operators(rate, services, latency))


@pytest.mark.slow
def test_no_cheaper_sizes_meet_the_sla_of_the_spike():
    check_that_nothing_cheaper_meets_it(read_scenario(SCENARIOS / "microbatch-spike.toml"))


def test_more_executors_than_are_good_for_batches_are_not_the_end_of_the_search():
    """With 200 ms for each task, twelve executors need batches of 2.4 s and more."""
    batches = {"queues": "batches", "batches": {"fixed": "100ms", "per_task": "200ms"}}
    file = {
        "name": "dear tasks",
        "duration": "60s",
        "source": [{"name": "in", "load": 150}],
        "operator": [{"name": "work", "inputs": ["in"], "service": {"mean": "20ms"}, **batches}],
        "sla": [{"latency": "6s", "window": "10s"}],
        "budget": {"total": 12},
    }
    scenario = make_scenario(msgspec.convert(file, ScenarioFile), Path())
    assert not is_met(scenario, {"work": 12})
    found = cheapest_fixed(scenario)
    assert found.is_met
    assert not is_met(scenario, {"work": found.sizes["work"] - 1})
