"""Every registered policy through random scenarios in the simulator: it never fails, and stays within the budget."""

import random
from pathlib import Path

import msgspec
import pytest

from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.policies.registry import policies

DURATION_S = 400
SCENARIOS = 4


def load_of(rng, low, high):
    length_s = rng.choice([20, 60, 150])
    steps = [[second, rng.choice([0, low, high])] for second in range(0, DURATION_S, length_s)]
    return rng.choice(
        [
            {"shape": "step", "steps": steps},
            {"shape": "sine", "base": (low + high) / 2, "amplitude": (high - low) / 2, "period": f"{4 * length_s}s"},
            {"shape": "erratic", "low": low, "high": high, "interval": f"{length_s / 10}s"},
            {"shape": "progressive", "low": low, "high": high, "rise": "60s", "plateau": "60s", "fall": "30s"},
        ]
    )


def operator_of(rng, number, service_s, *, batched):
    operator = {
        "name": f"operator {number}",
        "inputs": [f"operator {number - 1}" if number else "records"],
        "executors": rng.choice([1, 2, 4]),
        "service": {
            "mean": f"{service_s:.6f}s",
            "distribution": rng.choice(["fixed", "uniform", "exponential"]),
        },
        "keys": {"zipf": rng.uniform(0, 1), "keys": 500},
    }
    if batched:
        operator |= {"queues": "batches", "batches": {"fixed": rng.choice(["50ms", "500ms"]), "per_task": "10ms"}}
    if rng.random() < 0.4:
        operator |= {"key": "word", "substreams": rng.choice([6, 12, 48]), "state_bytes": rng.choice([1e3, 1e7])}
    return operator


def scenario_of(seed):
    rng = random.Random(seed)
    service_s, batched = 10 ** rng.uniform(-2.5, -1), rng.random() < 0.7
    low = rng.uniform(0.1, 2) / service_s
    content = {
        "name": f"random {seed}",
        "duration": f"{DURATION_S}s",
        "period": rng.choice(["1s", "2s", "5s"]),
        "source": [
            {
                "name": "records",
                "load": load_of(rng, low, rng.uniform(1.5, 6) * low),
                "keys": {"zipf": rng.uniform(0, 1), "keys": 500},
            }
        ],
        "operator": [
            operator_of(rng, number, service_s * rng.uniform(0.2, 1), batched=batched)
            for number in range(rng.choice([1, 2, 3]))
        ],
        "sla": [{"latency": rng.choice(["1s", "5s", "20s"]), "window": rng.choice(["10s", "30s"])}],
        "budget": {"total": rng.choice([12, 20, 40])},
        "cluster": {"start": rng.choice(["2s", "6s", "30s"]), "warm_up": "3s"},
    }
    return make_scenario(msgspec.convert(content, ScenarioFile), Path())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SCENARIOS))
@pytest.mark.parametrize("policy", sorted(policies().keys() - {"q-learning"}))  # which needs a table
def test_it_never_fails_and_stays_within_the_budget(policy, seed):
    made, problems, most = scenario_of(seed), set(), 0

    def note(turn):
        nonlocal most
        problems.update(problem for problem in turn.problems if problem.place == "policy")
        most = max(most, turn.plan.total)

    simulate(made, policy, seed=seed, listeners=[note])
    assert not problems
    assert most <= made.goal.budget.total
