from pathlib import Path

import numpy as np
import pytest
from one_operator import SURGE, scenario

from rheostat.experiments.clairvoyant.lower_bound import lower_bound
from rheostat.experiments.scenario import read_scenario
from rheostat.experiments.simulate import simulate

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def test_a_flat_load_needs_its_work_all_the_time():
    """What is not due at the end, 10 s of work, may be left."""
    assert lower_bound(scenario(300, executors=3)).executor_seconds == 3 * 200 - 3 * 10


def test_it_is_reached_where_the_future_is_flat_and_nothing_may_be_left():
    flat = scenario(100, executors=1)
    assert lower_bound(flat).executor_seconds == simulate(flat, "static").executor_seconds == 200


def test_a_load_between_two_sizes_costs_its_work_and_the_starts():
    bound = lower_bound(scenario(250, executors=2)).executor_seconds
    assert 2.5 * 190 <= bound <= 2.5 * 190 + 10


def test_without_an_sla_only_the_least_executors_are_paid():
    assert lower_bound(scenario(300, latency=None)).executor_seconds == 200


def test_records_that_may_be_lost_need_not_be_served():
    assert lower_bound(scenario(300, capacity=10)).executor_seconds == 200


def test_what_cannot_be_met_has_no_bound():
    bound = lower_bound(scenario(300, total=2))
    assert bound.executor_seconds is None
    assert bound.by_operator == {"work": None}


def test_operators_add_up():
    bound = lower_bound(read_scenario(SCENARIOS / "wordcount-sine.toml"))
    assert bound.executor_seconds == sum(bound.by_operator.values())
    assert set(bound.by_operator) == {"split", "count"}


@pytest.mark.parametrize("executors", [3, 4])
@pytest.mark.parametrize("load", [250, SURGE])
def test_a_run_that_meets_the_sla_in_all_windows_pays_no_less(load, executors):
    tried = scenario(load, executors=executors)
    result = simulate(tried, "static")
    assert result.success_rate == 1.0
    assert lower_bound(tried).executor_seconds <= result.executor_seconds


POLICIES = {
    "threshold": {},
    "drs": {},
    "lag": {"interval": "2s"},
    "ds2": {"scaling_factor": 0.3, "warm_up": 0, "interval": "5s"},
    "spark-dra": {"idle_timeout": "10s"},
}


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_that_meets_the_sla_in_all_windows_is_cheaper_on_random_loads(policy):
    random = np.random.default_rng(7)
    met = 0
    for seed in range(5):
        steps = [[f"{30 * step}s", float(random.integers(50, 600))] for step in range(4)]
        executors = int(random.integers(2, 8))
        tried = scenario(
            {"shape": "step", "steps": steps}, latency="3s", executors=executors, duration="120s", total=12
        )
        result = simulate(tried, policy, POLICIES[policy], seed=seed)
        if result.success_rate == 1.0:
            met += 1
            assert lower_bound(tried).executor_seconds <= result.executor_seconds
    assert met
