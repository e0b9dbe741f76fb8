"""DRS in the loop, on the simulated cluster."""

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from rheostat.experiments.scenario import Scenario, ScenarioFile, make_scenario, read_scenario
from rheostat.experiments.simulate import simulate
from rheostat.journal import Journal
from rheostat.loop.turn import Ruling
from rheostat.replay import replay

SCENARIOS = Path(__file__).parents[3] / "scenarios"

LOGOS = """
name = "three operators, badly split"
duration = "2m"
period = "2s"
[[source]]
name = "frames"
load = { shape = "constant", rate = 40 }
[[operator]]
name = "extract"
inputs = ["frames"]
selectivity = 4
emission = "poisson"
executors = EXTRACT
service = { mean = "90ms" }
[[operator]]
name = "match"
inputs = ["extract"]
executors = MATCH
selectivity = 0.25
service = { mean = "30ms" }
[[operator]]
name = "aggregate"
inputs = ["match"]
executors = AGGREGATE
service = { mean = "4ms" }
[budget]
total = 14
[cluster]
start = "2s"
"""


def split(tmp_path: Path, *executors: int) -> Scenario:
    text = LOGOS
    for name, number in zip(("EXTRACT", "MATCH", "AGGREGATE"), executors, strict=True):
        text = text.replace(name, str(number))
    path = tmp_path / "logos.toml"
    path.write_text(text)
    return read_scenario(path)


def last_sizes(journal: Path) -> dict[str, int]:
    with Journal(journal) as written:
        plan = written.last_recorded(1)[-1].plan
    return {name: plan.size(name) for name in plan.pool_of}


def run(scenario: Scenario, journal: Path, policy: str, **options):
    with Journal(journal) as written:
        result = simulate(scenario, policy, options, journal=written)
    return result, last_sizes(journal)


@pytest.mark.parametrize("bad", [(6, 4, 4), (3, 10, 1)])
def test_it_recovers_from_a_bad_allocation_in_one_act_within_the_same_number_of_executors(tmp_path: Path, bad):
    """The work keeps 3.6, 4.8 and 0.16 executors busy: both starts overload an operator."""
    scenario = split(tmp_path, *bad)
    left, _ = run(scenario, tmp_path / "static.db", "static")
    cured, sizes = run(scenario, tmp_path / "drs.db", "drs")
    assert left.mean_latency_s > 5.0
    assert cured.mean_latency_s < 0.5
    assert cured.mean_executors <= 14
    assert sizes in ({"extract": 5, "match": 8, "aggregate": 1}, {"extract": 6, "match": 7, "aggregate": 1})
    assert cured.decisions["scale"] == sum(before != after for before, after in zip(bad, sizes.values(), strict=True))


def test_passive_it_recommends_and_nothing_changes(tmp_path: Path):
    result, sizes = run(split(tmp_path, 6, 4, 4), tmp_path / "passive.db", "drs", t_ra="forever")
    assert result.decisions.keys() == {"hold"}
    assert sizes == {"extract": 6, "match": 4, "aggregate": 4}


def test_a_replay_of_its_journal_decides_the_same(tmp_path: Path):
    result, _ = run(split(tmp_path, 6, 4, 4), tmp_path / "drs.db", "drs")
    replayed = replay(tmp_path / "drs.db")
    assert replayed.differences == []
    assert replayed.recorded["scale"] == result.decisions["scale"] > 0


@pytest.mark.slow
def test_it_holds_the_sla_through_a_spike_far_longer_than_thresholds_do():
    spike = read_scenario(SCENARIOS / "microbatch-spike.toml")
    drs, threshold = (simulate(spike, policy, {}) for policy in ("drs", "threshold"))
    assert drs.success_rate > 0.9
    assert drs.success_rate > threshold.success_rate + 0.15
    assert drs.mean_latency_s < threshold.mean_latency_s / 3


def flat(folder, load, **more):
    """A constant load near a boundary between two numbers of executors."""
    operator = {"name": "work", "inputs": ["in"], "executors": 5, "service": {"mean": "100ms"}, "queues": "shared"}
    told = {
        "name": "flat",
        "duration": "5m",
        "period": more.pop("period", "1s"),
        "source": [{"name": "in", "load": load, "keys": {"zipf": 0.2, "keys": 1000}}],
        "operator": [operator | more],
        "sla": [{"latency": "1s", "window": "10s"}],
        "budget": {"total": 40},
    }
    return make_scenario(msgspec.convert(told, ScenarioFile), folder)


@pytest.mark.parametrize("load", [31, 36, 40])
def test_a_constant_load_near_a_boundary_causes_few_actions(tmp_path, load):
    """45 in five minutes, if executors are removed as soon as the model allows it."""
    steady = flat(tmp_path, load)
    result, as_printed = simulate(steady, "drs", seed=1), simulate(steady, "drs", {"keep": 0}, seed=1)
    assert as_printed.decisions["scale"] > 40
    assert result.decisions.get("scale", 0) < 10
    assert result.success_rate > 0.99
    assert result.mean_executors < as_printed.mean_executors + 1.4


def test_a_keyed_operator_with_a_short_period_is_neither_oversized_nor_starved(tmp_path):
    """In a tenth of a second most substreams get nothing: they must be spread over the new executors all the same."""
    keyed = flat(tmp_path, 40, period="100ms", queues="own", key="k", substreams=64)
    result = simulate(keyed, "drs", seed=1)
    assert result.success_rate > 0.99
    assert result.mean_executors < 12
    assert result.decisions["scale"] < 25


@pytest.mark.parametrize("with_end_to_end", [False, True])
def test_the_sla_of_an_operator_is_served_with_no_more_than_it_needs(tmp_path, with_end_to_end):
    """It was ignored: the whole budget of 16 was taken, and never returned."""
    end_to_end = [{"latency": "5s", "window": "10s"}] if with_end_to_end else []
    told = {
        "name": "operator SLA",
        "duration": "5m",
        "period": "1s",
        "source": [{"name": "in", "load": {"shape": "step", "steps": [[0, 10], [100, 40], [160, 10]]}}],
        "operator": [{"name": "work", "inputs": ["in"], "service": {"mean": "100ms"}, "queues": "shared"}],
        "sla": [{"latency": "500ms", "window": "10s", "operator": "work"}, *end_to_end],
        "budget": {"total": 16},
    }
    result = simulate(make_scenario(msgspec.convert(told, ScenarioFile), tmp_path), "drs", seed=1)
    assert result.operators["work"].success_rate > 0.85
    assert result.mean_executors < 6


@pytest.mark.parametrize("seed", [1, 2])
def test_a_chain_under_a_constant_load_is_left_alone(tmp_path, seed):
    """Executors of one operator were removed and added again for those of another: ten actions in five minutes."""
    names = ("in", "a", "b", "c")
    told = {
        "name": "chain",
        "duration": "5m",
        "period": "1s",
        "source": [{"name": "in", "load": 36}],
        "operator": [
            {"name": name, "inputs": [before], "executors": 5, "service": {"mean": "100ms"}, "queues": "shared"}
            for before, name in pairwise(names)
        ],
        "sla": [{"latency": "1s", "window": "10s"}],
        "budget": {"total": 40},
    }
    actions: list[float] = []

    def count(turn):
        if any(verdict.decision.kind == "scale" and verdict.ruling is Ruling.ACCEPTED for verdict in turn.verdicts):
            actions.append(turn.time_s)

    steady = make_scenario(msgspec.convert(told, ScenarioFile), tmp_path)
    result = simulate(steady, "drs", seed=seed, listeners=[count])
    assert len(actions) <= 6
    assert result.success_rate > 0.99
    assert result.mean_executors < 18


def test_a_t_min_that_no_number_of_executors_reaches_does_not_keep_all_of_them(tmp_path):
    """A batch costs a second and a half however many executors there are; T_min would be 2.25 s."""
    told = {
        "name": "long batches",
        "duration": "5m",
        "period": "2s",
        "source": [{"name": "in", "load": 100}],
        "operator": [
            {
                "name": "work",
                "inputs": ["in"],
                "executors": 20,
                "queues": "batches",
                "batches": {"fixed": "1.5s", "per_task": "10ms"},
                "service": {"mean": "20ms"},
            }
        ],
        "sla": [{"latency": "5s", "window": "30s"}],
        "budget": {"total": 20},
    }
    result = simulate(make_scenario(msgspec.convert(told, ScenarioFile), tmp_path), "drs", seed=1)
    assert result.success_rate > 0.95
    assert result.mean_executors < 10
