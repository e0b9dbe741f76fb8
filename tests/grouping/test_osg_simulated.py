"""OSG in the simulator: how fast it adapts to an executor that slows down."""

import msgspec
import pytest

from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate


def slowed(folder, **osg):
    """Four executors; after a minute one has half its speed, which the others can make up for."""
    told = {
        "name": "half speed",
        "duration": "8m",
        "period": "10s",
        "source": [{"name": "in", "load": 30}],
        "operator": [
            {
                "name": "work",
                "inputs": ["in"],
                "executors": 4,
                "service": {"mean": "100ms"},
                "grouping": "osg",
                "osg": osg,
            }
        ],
        "cluster": {"slow": [{"operator": "work", "executor": 0, "speed": 0.5, "since": "1m"}]},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), folder)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slower_executor_gets_less_within_minutes(tmp_path, seed):
    result = simulate(slowed(tmp_path), "static", seed=seed)
    late = simulate(slowed(tmp_path, window=1024), "static", seed=seed)
    assert late.mean_latency_s > 10
    assert result.mean_latency_s < 0.5 * late.mean_latency_s
