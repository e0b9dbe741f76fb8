"""DABS-Storm in the loop, on the simulated cluster."""

import msgspec
import pytest

from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.policies.dabs.outlook import ProcessorNeed


def chain(folder, load):
    """Three operators that keep 30 executors busy in all, at 300 records a second, and a budget of 40."""
    times = {"a": "50ms", "b": "30ms", "c": "20ms"}
    inputs = dict(zip(times, ("in", "a", "b"), strict=True))
    told = {
        "name": "chain",
        "duration": "30m",
        "period": "5s",
        "source": [{"name": "in", "load": load}],
        "operator": [
            {"name": name, "inputs": [inputs[name]], "executors": 2, "service": {"mean": mean}, "queues": "shared"}
            for name, mean in times.items()
        ],
        "sla": [{"latency": "5s", "window": "30s"}],
        "budget": {"total": 40},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), folder)


@pytest.mark.parametrize("load", [300, 360])
def test_no_operator_is_starved_for_good_under_a_budget(tmp_path, load):
    """First come, first served gave 36 executors to the first operator and left 2 to each of the others."""
    result = simulate(chain(tmp_path, load), "dabs", seed=1)
    assert result.completed > 0.99 * result.arrived
    assert result.success_rate > 0.55
    assert all(each.queued < 200 for each in result.operators.values())
    assert result.decisions["scale"] < 40


@pytest.mark.parametrize("executors", [2, 5, 10])
def test_the_degree_that_alpha_gives_lies_in_the_working_interval(executors):
    """With λ = 0.3 in place of α no degree did: it was larger than the interval allows, whatever the work."""
    work_s = 0.55 * executors * 60.0
    need = ProcessorNeed(work_s, 60.0, usable=0.3 + 0.45, reserved=1.0, alpha=0.6)
    assert need.beyond(need.degree, 0.5) is None
    printed = ProcessorNeed(work_s, 60.0, usable=0.3 + 0.7, reserved=1.0, alpha=0.3)
    assert printed.ideal < 0.5 * printed.degree


def test_a_backlog_that_a_restart_leaves_is_no_trend(tmp_path):
    """A step of the load, and each change stops the topology for half a minute: on the plateau the records that waited
    looked like a higher load, and their absence like a lower one, so that a change followed on every other."""
    operators = {
        "dispatch": {"inputs": ["in"], "service": {"mean": "2ms"}, "outputs": {"places": 0.7, "ages": 0.7}},
        "bolt": {"inputs": ["dispatch.places"], "service": {"mean": "40ms"}},
        "city": {"inputs": ["bolt"], "service": {"mean": "10ms"}},
        "age": {"inputs": ["dispatch.ages"], "service": {"mean": "10ms"}},
    }
    told = {
        "name": "plateau",
        "duration": "30m",
        "period": "10s",
        "cooldown": "1m",
        "source": [{"name": "in", "load": {"shape": "step", "steps": [[0, 20], ["2m", 150]]}}],
        "operator": [{"name": name, **fields} for name, fields in operators.items()],
        "budget": {"total": 36},
        "cluster": {"start": "5s", "restart": "30s"},
    }
    scenario = make_scenario(msgspec.convert(told, ScenarioFile), tmp_path)
    result = simulate(scenario, "dabs", {"alpha": 0.6, "grouping": "keep"}, seed=1)
    assert result.decisions["scale"] < 20
    assert result.completed > 0.99 * result.arrived
