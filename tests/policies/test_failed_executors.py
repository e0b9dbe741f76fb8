"""An executor that is down, or that the cluster is slow to give, does not keep policies from treating the others."""

import msgspec
import pytest

from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.loop.turn import Ruling

DOUBLED_S = 90.0


def scenario(folder, *, key=None, **cluster):
    """Eight executors at 70 %; the load doubles after a minute and a half."""
    operator = {"name": "work", "inputs": ["in"], "executors": 8, "service": {"mean": "100ms"}, "queues": "shared"}
    keyed = {"key": "k", "substreams": 64, "queues": "own"}
    told = {
        "name": "load doubles",
        "duration": "5m",
        "period": "1s",
        "source": [
            {
                "name": "in",
                "load": {"shape": "step", "steps": [[0, 56], [DOUBLED_S, 112]]},
                "keys": {"zipf": 0.2, "keys": 1000},
            }
        ],
        "operator": [operator | (keyed if key else {})],
        "sla": [{"latency": "2s", "window": "5s"}],
        "budget": {"total": 20},
        "cluster": {"start": "4s", **cluster},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), folder)


def first_scale_after(turns, time_s):
    scaled = [
        turn.time_s
        for turn in turns
        if turn.time_s > time_s and any(v.decision.kind == "scale" for v in turn.ruled(Ruling.ACCEPTED))
    ]
    return scaled[0] if scaled else float("inf")


DOWN = [{"at": "60s", "operator": "work", "executor": 1, "down": "240s"}]
POLICIES = {
    "drs": {},
    "drs-lb": {},
    "streamswitch": {},
    "threshold": {},
    "lag": {"lag_threshold": 5, "interval": "5s"},
    "pa-sps": {"td": "10s"},
    "psps": {"td": "10s"},
    "ds2": {"interval": "10s"},
    "dabs": {"sample": "5s", "iteration": "30s"},
}


@pytest.mark.parametrize("policy", POLICIES)
def test_the_healthy_executors_are_treated_while_one_is_down(tmp_path, policy):
    turns = []
    simulate(scenario(tmp_path, failures=DOWN), policy, POLICIES[policy], seed=1, listeners=[turns.append])
    assert first_scale_after(turns, DOUBLED_S) < DOUBLED_S + 60
    assert max(turn.plan.size("work") for turn in turns) >= 12


def test_the_substreams_of_the_healthy_executors_move_while_one_is_down(tmp_path):
    turns = []
    result = simulate(scenario(tmp_path, key="k", failures=DOWN), "streamswitch", seed=1, listeners=[turns.append])
    assert first_scale_after(turns, DOUBLED_S) < DOUBLED_S + 10
    assert result.operators["work"].mean_latency_s < 20


def test_a_cluster_that_is_slow_to_give_executors_does_not_block_decisions(tmp_path):
    """Executors take four minutes to start."""
    turns = []
    simulate(scenario(tmp_path, start="4m"), "drs", seed=1, listeners=[turns.append])
    accepted_s = [turn.time_s for turn in turns if turn.ruled(Ruling.ACCEPTED)]
    assert len(accepted_s) > 1
    waits_s = [turn.time_s - max(s for s in accepted_s if s <= turn.time_s) for turn in turns if turn.settling]
    assert max(waits_s) <= 60
