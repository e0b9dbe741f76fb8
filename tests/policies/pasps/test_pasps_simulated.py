"""PA-SPS in the loop, on the simulated cluster."""

import msgspec

from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate


def whole_number(folder):
    """A flat load that is work for exactly four executors, for half an hour."""
    told = {
        "name": "four executors",
        "duration": "30m",
        "period": "1s",
        "source": [{"name": "in", "load": 40}],
        "operator": [
            {"name": "work", "inputs": ["in"], "executors": 4, "service": {"mean": "100ms"}, "queues": "shared"}
        ],
        "sla": [{"latency": "1s", "window": "10s"}],
        "budget": {"total": 12},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), folder)


def test_a_flat_load_at_a_whole_number_of_executors_keeps_the_sla_with_few_changes(tmp_path):
    """As printed it changes at every other interval, and is short of executors after each of them."""
    flat = whole_number(tmp_path)
    printed = simulate(flat, "pa-sps", {"predictor": "linear", "plan_for": "mean", "keep": 0}, seed=1)
    result = simulate(flat, "pa-sps", {"predictor": "linear"}, seed=1)
    assert printed.decisions["scale"] > 30
    assert printed.success_rate < 0.9
    assert result.decisions["scale"] < 12
    assert result.success_rate > 0.94
    assert result.mean_executors < 6.1
