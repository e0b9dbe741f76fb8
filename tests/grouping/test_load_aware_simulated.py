"""Load-aware grouping in the simulator, where executors have queues of their own and new ones join."""

import msgspec

from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate


def growing(folder, grouping):
    """The load grows from two to eight executors' work; the policy adds them one by one."""
    told = {
        "name": "growing",
        "duration": "6m",
        "period": "5s",
        "source": [{"name": "in", "load": {"shape": "ramp", "from_rate": 20, "to_rate": 80, "duration": "5m"}}],
        "operator": [
            {
                "name": "work",
                "inputs": ["in"],
                "executors": 3,
                "service": {"mean": "100ms"},
                "grouping": grouping,
            }
        ],
        "sla": [{"latency": "2s", "window": "10s"}],
        "budget": {"total": 16},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), folder)


def test_new_replicas_do_not_get_everything_at_once(tmp_path):
    """As idle ones they got it, and the mean latency was 5.1 s, where round robin has 0.24 s."""
    aware = simulate(growing(tmp_path, "load-aware"), "threshold", seed=1)
    turns = simulate(growing(tmp_path, "round-robin"), "threshold", seed=1)
    assert aware.mean_latency_s < 4 * turns.mean_latency_s
