from pathlib import Path

import msgspec
import pytest

from rheostat.errors import ConfigError
from rheostat.experiments.replicate import means, replicate
from rheostat.experiments.result import Result
from rheostat.experiments.scenario import Scenario, read_scenario
from rheostat.experiments.simulate import simulate
from rheostat.journal import Journal
from rheostat.replay import replay

RAMP = """
name = "ramp"
duration = "60s"
[[source]]
name = "in"
load = { shape = "step", steps = [[0, 100], ["20s", 400], ["40s", 100]] }
keys = { zipf = 0.5, keys = 64 }
[[operator]]
name = "parse"
inputs = ["in"]
service = { mean = "5ms" }
executors = 1
[[operator]]
name = "count"
inputs = ["parse"]
key = "k"
substreams = 8
service = { mean = "5ms" }
executors = 1
[[sla]]
latency = "500ms"
window = "5s"
[[sla]]
latency = "300ms"
window = "5s"
operator = "count"
[budget]
total = 10
[cluster]
start = "1s"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    path = tmp_path / "ramp.toml"
    path.write_text(RAMP)
    return read_scenario(path)


def test_a_result_has_every_figure_and_they_fit_together(scenario: Scenario) -> None:
    result = simulate(scenario, "threshold", seed=3)
    assert result.arrived == result.completed + result.queued + result.lost
    for operator in result.operators.values():
        assert operator.arrived == operator.completed + operator.queued + operator.lost
    assert result.success_rate is not None
    assert 0 <= result.success_rate <= 1
    assert len(result.success_rate_by_substream["count"]) == 8
    assert result.mean_executors * result.duration_s <= result.executor_seconds + 1e-6
    assert sum(part.executor_seconds for part in result.operators.values()) == pytest.approx(result.executor_seconds)
    assert result.decisions["scale"] > 0
    assert result.switching_events > 0


def test_a_policy_that_scales_meets_the_sla_more_often_than_one_that_does_not(scenario: Scenario) -> None:
    static, threshold = simulate(scenario, "static"), simulate(scenario, "threshold")
    assert static.success_rate is not None
    assert threshold.success_rate is not None
    assert threshold.success_rate > static.success_rate
    assert static.decisions.get("scale", 0) == 0
    assert static.mean_executors == 2.0


def test_the_same_seed_gives_the_same_result_and_another_seed_another(scenario: Scenario) -> None:
    first, second, other = (simulate(scenario, seed=seed) for seed in (5, 5, 6))
    assert first == second
    assert first.mean_latency_s != other.mean_latency_s


def test_all_policies_see_the_same_arrivals_under_one_seed(scenario: Scenario) -> None:
    assert simulate(scenario, "static", seed=9).arrived == simulate(scenario, "threshold", seed=9).arrived


def test_results_do_not_depend_on_the_number_of_processes(scenario: Scenario) -> None:
    alone = replicate(scenario, "threshold", seeds=range(3), processes=1)
    shared = replicate(scenario, "threshold", seeds=range(3), processes=2)
    assert alone == shared
    assert means(alone)["mean_executors"].half_width is not None


def test_a_result_survives_json(scenario: Scenario) -> None:
    result = simulate(scenario)
    assert msgspec.json.decode(msgspec.json.encode(result), type=Result) == result


def test_a_simulated_run_is_replayed_from_its_journal_with_the_same_decisions(
    scenario: Scenario, tmp_path: Path
) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        result = simulate(scenario, "threshold", journal=journal)
    again = replay(tmp_path / "journal.db")
    assert again.differences == []
    assert again.recorded["scale"] == result.decisions["scale"]
    other = replay(tmp_path / "journal.db", "static")
    assert len(other.differences) == result.decisions["scale"]


@pytest.mark.parametrize("policy", [None, "drs"])
def test_without_a_policy_the_sla_decides_how_many_executors_run(tmp_path: Path, policy: str | None) -> None:
    path = tmp_path / "ramp.toml"
    steep = RAMP.replace("400]", "1000]").replace("total = 10", "total = 30")
    results = []
    for latency in ("1ms", "2s", "200s"):
        path.write_text(steep.replace('latency = "500ms"', f'latency = "{latency}"'))
        results.append(simulate(read_scenario(path), policy))
    assert {result.policy for result in results} == {"drs"}
    strict, usual, loose = (result.mean_executors for result in results)
    assert strict > usual > loose


def test_a_scenario_without_sla_total_and_policy_is_refused_with_what_to_give(tmp_path: Path) -> None:
    path = tmp_path / "ramp.toml"
    path.write_text(RAMP.partition("[[sla]]")[0])
    with pytest.raises(ConfigError, match=r"drs needs an end-to-end SLA .* or a total number of executors"):
        simulate(read_scenario(path))
    assert simulate(read_scenario(path), "threshold").policy == "threshold"
