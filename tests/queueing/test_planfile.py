import json
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import ConfigError, InfeasibleError, RheostatError, TopologyError
from rheostat.queueing import MicroBatch, Network, assign_processors, min_processors, mmk
from rheostat.queueing.planfile import ASSUMED_BATCH_S, MODELS, network_of, parse, plan, read

VLD = {
    "external_rate": 13,
    "operators": [
        {"name": "extract", "arrival_rate": 13, "service_rate": 1.5},
        {"name": "match", "arrival_rate": 13, "service_rate": 1.4},
        {"name": "aggregate", "arrival_rate": 13, "service_rate": 40},
    ],
}


def file_of(**changes):
    return parse(json.dumps(VLD | changes))


def operator(**changes):
    return [{"name": "a", "arrival_rate": 4, "service_rate": 1.5} | changes]


def test_a_plan_for_k_max_is_the_best_allocation_with_its_latency_and_utilisation():
    made = plan(file_of(), k_max=22).as_dict()
    network = Network.of(13.0, extract=mmk(13, 1.5), match=mmk(13, 1.4), aggregate=mmk(13, 40))
    best = assign_processors(network, 22)
    assert made["allocation"] == best.by_name() == {"extract": 10, "match": 11, "aggregate": 1}
    assert made["total"] == 22
    assert made["expected_latency_s"] == best.expected_latency_s()
    assert made["utilisation"]["extract"] == pytest.approx(13 / 15)
    assert made["model"] == "mmk"


def test_a_plan_for_t_max_uses_the_fewest_executors():
    made = plan(file_of(), t_max_s=1.6)
    assert made.allocation == min_processors(network_of(file_of()), 1.6)
    assert made.allocation.expected_latency_s() <= 1.6


def test_the_result_survives_json():
    made = plan(file_of(), k_max=22).as_dict()
    assert json.loads(json.dumps(made)) == made


def test_the_text_has_a_line_for_each_operator_and_the_expected_latency():
    assert plan(file_of(), k_max=22).as_text().splitlines() == [
        "operator   executors  utilisation",
        "extract           10        86.7%",
        "match             11        84.4%",
        "aggregate          1        32.5%",
        "total             22",
        "expected latency 1.91s (mmk)",
    ]


def test_arrival_rates_follow_from_external_rates_and_routes():
    names = ["generate", "detect", "report"]
    routes = [("generate", "detect", 2.0), ("detect", "detect", 0.2), ("detect", "report", 0.1)]
    file = parse(
        json.dumps(
            {
                "external": {"generate": 320},
                "operators": [{"name": name, "service_rate": 100} for name in names],
                "routes": [{"from": a, "to": b, "share": share} for a, b, share in routes],
            }
        )
    )
    network = network_of(file)
    assert [station.model.arrival_rate for station in network.stations] == pytest.approx([320, 800, 80])
    assert network.external_rate == 320


def test_a_loop_that_feeds_itself_for_ever_is_named():
    looping = {
        "external": {"a": 1},
        "operators": [{"name": "a", "service_rate": 2}],
        "routes": [{"from": "a", "to": "a", "share": 1.0}],
    }
    with pytest.raises(TopologyError, match="loop of a with itself"):
        plan(parse(json.dumps(looping)), k_max=3)


def test_gi_g_k_takes_the_variations_of_the_file_and_m_m_k_does_not():
    calm = file_of(operators=operator(arrival_scv=0.2, service_scv=0.3))
    assert (
        plan(calm, k_max=3, model="gigk").as_dict()["expected_latency_s"]
        < (plan(calm, k_max=3, model="mmk").as_dict()["expected_latency_s"])
    )


def test_micro_batches_take_their_costs_from_the_operator_or_else_from_the_file():
    own = operator(batch_fixed_s=0.3, batch_per_task_s=0.01, tasks=8)
    file = file_of(operators=[*own, {"name": "b", "arrival_rate": 1, "service_rate": 2}], batch_fixed_s=0.5)
    models = [station.model for station in network_of(file, "microbatch").stations]
    assert models == [MicroBatch(4, 1.5, 0.3, 0.01, 8), MicroBatch(1, 2, 0.5)]
    assert plan(file, k_max=9, model="microbatch").as_dict()["assumptions"] == []


def test_an_unknown_cost_of_batches_is_assumed_and_said():
    made = plan(file_of(), k_max=25, model="microbatch")
    assert made.allocation.network.stations[0].model == MicroBatch(13, 1.5, ASSUMED_BATCH_S)
    assert "a batch of extract, match, aggregate costs 180ms" in made.as_dict()["assumptions"][0]
    assert made.as_text().splitlines()[-1].startswith("assumed: a batch of extract")


def test_bounds_and_speeds_of_the_file_are_kept():
    file = file_of(operators=operator(max_executors=4, min_executors=2, speeds=[1.0, 0.5]))
    station = network_of(file).stations[0]
    assert station.bounds() == (4, 4)
    assert station.model.utilisation(4) == pytest.approx(4 / (4 * 1.5 * 0.75))


def test_a_margin_makes_queues_of_one_executor_each_more_careful():
    file = file_of(operators=operator(margin=0.4))
    assert plan(file, t_max_s=1e9, model="mm1").allocation.executors == (5,)


def test_what_cannot_be_met_says_what_would_be():
    with pytest.raises(InfeasibleError, match="at least 20 are needed"):
        plan(file_of(), k_max=12)
    with pytest.raises(InfeasibleError, match=r"stays above 1\.40595 s"):
        plan(file_of(), t_max_s=1.0)


@pytest.mark.parametrize("goal", [{}, {"k_max": 22, "t_max_s": 1.0}])
def test_one_goal_and_only_one_is_asked_for(goal):
    with pytest.raises(ConfigError, match="either K_max"):
        plan(file_of(), **goal)


def test_an_unknown_model_is_refused_with_a_hint():
    with pytest.raises(ConfigError, match="no model 'mmkk'; did you mean 'mmk'"):
        plan(file_of(), k_max=22, model="mmkk")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"operators": operator(service_rate=0)}, r"operator 'a': service rate 0\.0"),
        ({"operators": operator(service_rate=1e-308)}, r"operator 'a': service rate 1e-308 is too low"),
        ({"operators": operator(service_rate="fast")}, r"Expected 'float', got 'str' .*operators\[0\].service_rate"),
        ({"operators": operator(servicerate=1)}, "unknown field 'servicerate'"),
        ({"operators": operator(arrival_rate=None)}, "operator 'a' has no arrival_rate"),
        ({"operators": operator(min_executors=3, max_executors=2)}, "'a' cannot have at least 3"),
        ({"operators": operator(speeds=[1, -1])}, "operator 'a': speeds"),
        ({"operators": operator() * 2}, "two operators are named 'a'"),
        ({"operators": []}, "without operators"),
        ({"external": {"extract": 13}}, "'extract' has an arrival_rate"),
        ({"routes": [{"from": "extract", "to": "match"}]}, "routes need external rates"),
        ({"external_rate": None}, "external_rate is missing"),
        ({"external_rate": -1}, r"external rate -1\.0"),
    ],
)
def test_a_file_that_cannot_be_planned_is_refused_with_what_is_wrong(changes, message):
    with pytest.raises(ConfigError, match=message):
        plan(file_of(**changes), k_max=22)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("goal", [{"k_max": 22}, {"t_max_s": 1.6}])
def test_a_service_rate_too_small_for_its_arrival_rate_is_refused_with_both(model, goal):
    with pytest.raises(ConfigError, match=r"operator 'a': .*1e-308.*arrival rate 13\.0"):
        plan(file_of(operators=operator(arrival_rate=13.0, service_rate=1e-308)), model=model, **goal)


EXTREMES = st.sampled_from([0.0, 5e-324, 1e-308, 1e-300, 1e-155, 1e-3, 1.0, 1e9, 1e155, 1e300, 1.7e308])


@pytest.mark.parametrize("model", MODELS)
@given(
    arrival_rate=EXTREMES,
    service_rate=EXTREMES,
    scv=EXTREMES,
    cost_s=EXTREMES,
    speed=EXTREMES,
    external_rate=EXTREMES,
    goal=st.one_of(st.fixed_dictionaries({"k_max": st.integers(0, 50)}), st.fixed_dictionaries({"t_max_s": EXTREMES})),
)
def test_a_file_of_extreme_numbers_is_planned_or_refused(
    model, arrival_rate, service_rate, scv, cost_s, speed, external_rate, goal
):
    entry = {
        "name": "a",
        "arrival_rate": arrival_rate,
        "service_rate": service_rate,
        "arrival_scv": scv,
        "service_scv": scv,
        "batch_fixed_s": cost_s,
        "batch_per_task_s": cost_s,
        "speeds": [speed] if speed != 1.0 else [],
    }
    file = parse(json.dumps({"operators": [entry], "external_rate": external_rate}))
    with suppress(RheostatError):
        assert plan(file, model=model, **goal).as_text()


def test_an_external_rate_that_contradicts_the_sum_is_refused_with_both():
    contradicting = {"external": {"a": 4}, "external_rate": 5, "operators": [{"name": "a", "service_rate": 9}]}
    with pytest.raises(ConfigError, match=r"external_rate is 5\.0, but external adds up to 4\.0"):
        plan(parse(json.dumps(contradicting)), k_max=3)


def test_a_file_is_read_from_disk_and_named_in_errors(tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(VLD))
    bad.write_text("{")
    assert math.isclose(plan(read(good), k_max=22).as_dict()["total"], 22)
    with pytest.raises(ConfigError, match=r"bad\.json: "):
        read(bad)
    with pytest.raises(ConfigError, match=r"cannot read plan file .*none\.json: No such file"):
        read(tmp_path / "none.json")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("goal", [{"k_max": 10}, {"t_max_s": 1.0}])
def test_a_load_for_more_executors_than_there_are_anywhere_is_refused(goal, model):
    with pytest.raises(ConfigError, match=r"the load needs 1e\+11 executors, .*check the rates"):
        plan(file_of(external_rate=1e11, operators=operator(arrival_rate=1e11, service_rate=1.0)), model=model, **goal)
