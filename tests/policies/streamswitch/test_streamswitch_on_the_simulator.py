"""StreamSwitch closes the loop: a keyed operator under skew that changes its hot keys, on the simulated cluster."""

import msgspec
import pytest

from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate

SEEDS = (1, 2, 3)


def scenario(folder, **cluster):
    """Four executors that are busy for 70 % of their time; every 20 seconds other keys become the hot ones."""
    told = {
        "name": "rotating hot keys",
        "duration": "2m",
        "period": "500ms",
        "source": [
            {
                "name": "orders",
                "load": 280,
                "keys": {"zipf": 1.0, "keys": 64},
                "rotate_every": "20s",
                "rotate_by": 13,
            }
        ],
        "operator": [
            {
                "name": "match",
                "inputs": ["orders"],
                "key": "stock",
                "substreams": 64,
                "executors": 4,
                "service": {"mean": "10ms"},
                "state_bytes": 1e6,
            }
        ],
        "sla": [{"latency": "1s", "window": "5s", "operator": "match"}],
        "budget": {"total": 4, "least": {"match": 4}},
        "cluster": {"pause": "executors", **cluster},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), folder)


@pytest.mark.parametrize("seed", SEEDS)
def test_moves_alone_hold_the_sla_when_executors_suffice(tmp_path, seed):
    static = simulate(scenario(tmp_path), "static", seed=seed)
    moved = simulate(scenario(tmp_path), "streamswitch", seed=seed)
    assert static.success_rate < 0.8
    assert moved.success_rate > 0.97
    assert "scale" not in moved.decisions
    assert moved.decisions["move"] > 0
    assert moved.mean_executors == static.mean_executors == 4
    assert moved.queued < static.queued


def test_a_failed_executor_is_waited_for_and_its_backlog_is_worked_off(tmp_path):
    failures = [{"at": "30s", "operator": "match", "executor": 1, "down": "5s"}]
    result = simulate(scenario(tmp_path, failures=failures), "streamswitch", seed=1)
    assert "scale" not in result.decisions
    assert result.arrived == result.completed + result.queued
    assert result.success_rate > 0.7
    assert result.queued < 100


@pytest.mark.parametrize("seed", SEEDS)
def test_executors_of_different_speeds_get_what_they_can_serve(tmp_path, seed):
    """A third of them is faster by half: a map that fits the even speeds does not fit these."""
    uneven = scenario(tmp_path, odd_share=0.35, odd_speed=1.5)
    assert simulate(uneven, "streamswitch", seed=seed).success_rate > 0.97


def near_capacity(folder, pause, move_delay):
    """Eight executors that are busy for 88 % of their time, and no more are allowed."""
    told = {
        "name": "near capacity",
        "duration": "3m",
        "period": "100ms",
        "source": [{"name": "orders", "load": 700, "keys": {"zipf": 0.5, "keys": 1000}}],
        "operator": [
            {
                "name": "match",
                "inputs": ["orders"],
                "key": "stock",
                "substreams": 64,
                "executors": 8,
                "service": {"mean": "10ms"},
            }
        ],
        "sla": [{"latency": "1s", "window": "1s", "operator": "match"}],
        "budget": {"total": 8, "least": {"match": 8}},
        "cluster": {"pause": pause, "move_delay": move_delay},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), folder)


@pytest.mark.parametrize("policy", ["streamswitch", "drs-lb"])
def test_moves_that_pause_executors_do_not_make_it_worse_than_no_moves(tmp_path, policy):
    """776 moves in three minutes met 5 % of the windows, where no moves meet 87 %."""
    crowded = near_capacity(tmp_path, "executors", "200ms")
    moved, static = simulate(crowded, policy, seed=1), simulate(crowded, "static", seed=1)
    assert static.success_rate < 0.9
    assert moved.success_rate > 0.95
    assert moved.decisions["move"] < 120


def test_moves_that_cost_nothing_are_made_although_they_do_not_cure(tmp_path):
    free = simulate(near_capacity(tmp_path, "substream", "50ms"), "streamswitch", seed=1)
    assert free.success_rate > 0.99
    assert free.decisions["move"] > 300
