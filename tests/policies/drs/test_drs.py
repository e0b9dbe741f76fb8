import msgspec
import pytest
from drs_observations import acted, batch, chain, decide, goal, later, observe, policy_for, scaled, sizes
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.capabilities import Capabilities
from rheostat.decision import Effect, Hold, Scale
from rheostat.plan import Plan, PoolPlan
from rheostat.policies.drs.network_variants import under_load
from rheostat.queueing import MicroBatch, Network, assign_processors, min_processors, mmk
from rheostat.sla import Budget
from rheostat.snapshot import StreamState
from rheostat.topology import Operator, Source, Topology

AB = chain("a", "b")
ABC = chain("a", "b", "c")
RATES = {"a": (10.0, 4.0), "b": (10.0, 6.0)}
NETWORK = Network.of(10.0, a=mmk(10, 4), b=mmk(10, 6))


# --- K_max given: problem (6)


def test_with_k_max_executors_go_where_assign_processors_puts_them():
    decisions = decide(goal(AB, total=9), RATES, {"a": 4, "b": 5})
    best = assign_processors(NETWORK, 9)
    assert scaled(decisions) == {"a": best.executors[0], "b": best.executors[1]}
    assert sum(sizes(decisions)) == 9


def test_the_reason_has_the_numbers_and_the_effect_is_predicted():
    [a, b] = decide(goal(AB, total=9), RATES, {"a": 4, "b": 5}, latency_s=1.0)
    assert isinstance(a, Scale)
    assert a.predicted == Effect(latency_s=mmk(10, 4).sojourn_s(5), utilisation=0.5, executors=5)
    assert b.reason == a.reason
    assert (
        "least latency for 9 executors: scale out a 4 -> 5, scale in b 5 -> 4, 9 executors in all, predicted latency "
        in a.reason
    )
    assert a.reason.endswith(" by the model alone)")


def test_the_optimum_is_left_as_it_is():
    decisions = decide(goal(AB, total=9), RATES, {"a": 5, "b": 4})
    assert all(isinstance(decision, Hold) for decision in decisions)
    assert decisions[0].reason == "least latency for 9 executors, which is what runs: hold"


def test_what_is_not_yet_spent_of_k_max_is_spent_and_what_is_beyond_it_is_given_back():
    wanted = goal(AB, total=9)
    assert sizes(decide(wanted, RATES, {"a": 3, "b": 2})) == (5, 4)
    assert sizes(decide(wanted, RATES, {"a": 6, "b": 6})) == (5, 4)


def test_the_lower_and_upper_bounds_of_an_operator_hold():
    assert sizes(decide(goal(AB, total=9, most={"a": 4}), RATES, {"a": 4, "b": 4})) == (4, 5)
    assert sizes(decide(goal(AB, total=9, least={"b": 6}), RATES, {"a": 4, "b": 4})) == (3, 6)


def test_a_keyed_operator_gets_no_executor_without_a_substream():
    topology = Topology(
        "keyed", [Source("in"), Operator("a", inputs="in", key="k", substreams=3), Operator("b", inputs="a")]
    )
    assert sizes(decide(goal(topology, total=9), {"a": (10, 4), "b": (10, 6)}, {"a": 3, "b": 3})) == (3, 6)


# --- T_max and T_min given: problem (8)

TIGHT = goal(AB, latency="600ms")


def test_a_shortage_is_answered_by_the_fewest_executors_that_meet_t_max():
    estimate_s = NETWORK.expected_latency_s((3, 2))
    decisions = decide(TIGHT, RATES, {"a": 3, "b": 2}, latency_s=estimate_s)
    best = min_processors(NETWORK, 0.6)
    assert estimate_s > 0.6
    assert sizes(decisions) == best.executors
    assert "> SLA 600ms; " in decisions[0].reason
    assert f"{best.total()} executors are the fewest predicted to keep 600ms" in decisions[0].reason


def test_a_reason_names_the_option_where_it_replaces_the_sla():
    [a, _] = decide(TIGHT, RATES, {"a": 3, "b": 2}, latency_s=2.0, options={"t_max": "500ms"})
    assert "measured latency 2s > t_max 500ms; " in a.reason


def test_a_latency_of_exactly_t_max_is_met():
    assert not scaled(decide(TIGHT, RATES, {"a": 4, "b": 3}, latency_s=0.6))


def test_below_t_min_executors_are_removed_as_far_as_t_max_allows():
    plan = {"a": 9, "b": 8}
    latency_s = NETWORK.expected_latency_s((9, 8))
    decisions = decide(goal(AB, latency="1s"), RATES, plan, latency_s=latency_s, options={"t_min": "450ms"})
    assert latency_s < 0.45
    assert sizes(decisions) == min_processors(NETWORK, 1.0).executors
    assert "< t_min 450ms; " in decisions[0].reason


def test_between_t_min_and_t_max_the_same_number_is_split_better():
    wanted, plan = goal(AB, latency="2s"), {"a": 3, "b": 5}
    latency_s = NETWORK.expected_latency_s((3, 5))
    decisions = decide(wanted, RATES, plan, latency_s=latency_s, options={"t_min": "100ms"})
    assert sizes(decisions) == assign_processors(NETWORK, 8).executors
    assert sum(sizes(decisions)) == 8


def test_an_overload_is_answered_before_it_shows_in_the_latency():
    rates = {"a": (13.0, 4.0), "b": (13.0, 6.0)}
    decisions = decide(goal(AB, latency="2s"), rates, {"a": 3, "b": 3}, latency_s=0.5)
    assert scaled(decisions)["a"] >= 4
    assert "the load is more than the executors can serve" in decisions[0].reason


def test_nothing_is_removed_on_a_latency_that_was_not_measured():
    decisions = decide(goal(AB, latency="2s"), RATES, {"a": 5, "b": 4}, latency_s=None)
    assert not scaled(decisions)


def test_an_idle_network_shrinks_to_its_lower_bounds():
    idle = {"a": (0.0, None), "b": (0.0, None)}
    decisions = decide(goal(AB, latency="2s", least={"b": 2}), idle, {"a": 3, "b": 3}, external_rate=0.0)
    assert scaled(decisions) == {"a": 1, "b": 2}


def test_what_t_max_needs_is_not_more_than_k_max():
    wanted = goal(AB, latency="450ms", total=7)
    decisions = decide(wanted, RATES, {"a": 3, "b": 2}, latency_s=NETWORK.expected_latency_s((3, 2)))
    assert sizes(decisions) == assign_processors(NETWORK, 7).executors
    assert "no allowed number is predicted to keep 450ms" in decisions[0].reason


def test_a_shortage_that_the_model_does_not_see_gets_one_executor_more():
    decisions = decide(goal(AB, latency="2s"), RATES, {"a": 5, "b": 4}, latency_s=3.0, options={"correction": "none"})
    assert sizes(decisions) == assign_processors(NETWORK, 10).executors
    assert "the model sees no shortage" in decisions[0].reason


def with_queues(observation, queued):
    operators = {
        name: msgspec.structs.replace(each, queued=queued) for name, each in observation.measures.operators.items()
    }
    measures = msgspec.structs.replace(observation.measures, operators=operators)
    return msgspec.structs.replace(observation, measures=measures)


def with_rows(observation, rows, time_s):
    streams = (StreamState("in", "a", rows),)
    snapshot = msgspec.structs.replace(observation.snapshot, streams=streams, time_s=time_s)
    return msgspec.structs.replace(observation, snapshot=snapshot)


@pytest.mark.parametrize(("surge", "load"), [(True, 1 + (8.0 - 0.6) / 10.0), (False, 1.0)])
def test_in_a_shortage_what_waits_beyond_t_max_is_load_until_the_next_act(surge, load):
    short = observe(AB, RATES, {"a": 3, "b": 2}, latency_s=NETWORK.expected_latency_s((3, 2)))
    decisions = policy_for(TIGHT, surge=surge, t_m="10s").decide(with_queues(short, 40.0))
    assert sizes(decisions) == min_processors(under_load(NETWORK, load), 0.6).executors


def test_in_a_shortage_the_newest_rate_counts_where_smoothing_still_hides_a_rise():
    short = observe(AB, RATES, {"a": 3, "b": 2}, latency_s=NETWORK.expected_latency_s((3, 2)))
    policy = policy_for(TIGHT, t_m="1s")
    policy.decide(with_rows(short, 0, 10.0))
    risen = policy.decide(with_rows(short, 20, 11.0))
    assert sizes(risen) == min_processors(under_load(NETWORK, 2.0), 0.6).executors
    fallen = policy.decide(with_rows(short, 25, 12.0))
    assert sizes(fallen) == min_processors(NETWORK, 0.6).executors


def test_a_rise_that_may_be_chance_does_not_count_as_growth():
    short = observe(AB, RATES, {"a": 3, "b": 2}, latency_s=NETWORK.expected_latency_s((3, 2)))
    policy = policy_for(TIGHT, t_m="1s")
    policy.decide(with_rows(short, 0, 10.0))
    assert sizes(policy.decide(with_rows(short, 15, 11.0))) == min_processors(NETWORK, 0.6).executors


def test_executors_are_removed_once_fewer_have_been_enough_for_long_and_down_to_the_most_needed():
    wanted, times_s = goal(AB, latency="1s"), (10.0, 20.0, 30.0, 40.0)
    policy = policy_for(wanted, keep="30s")
    decided = []
    for time_s, factor in zip(times_s, (1.0, 1.2, 1.0, 1.0), strict=True):
        rates = {name: (arrivals * factor, served) for name, (arrivals, served) in RATES.items()}
        seen = observe(AB, rates, {"a": 9, "b": 8}, latency_s=0.1)
        decided.append(policy.decide(with_rows(seen, None, time_s)))
    assert not any(scaled(each) for each in decided[:3])
    assert "but not for 30s yet: hold" in decided[0][0].reason
    assert sum(sizes(decided[3])) == 7


def test_where_records_are_counted_in_gulps_the_newest_rate_says_nothing():
    short = observe(AB, RATES, {"a": 3, "b": 2}, latency_s=NETWORK.expected_latency_s((3, 2)))
    policy = policy_for(TIGHT, t_m="1s")
    for time_s, rows in ((10.0, 0), (11.0, 30), (12.0, 30), (13.0, 30)):
        policy.decide(with_rows(short, rows, time_s))
    gulp = policy.decide(with_rows(short, 60, 14.0))
    assert sizes(gulp) == min_processors(NETWORK, 0.6).executors


def test_in_a_shortage_the_same_number_is_split_anew_only_where_that_is_worth_the_stop():
    wanted, plan = goal(AB, latency="450ms", total=9), {"a": 4, "b": 5}
    cheap = decide(wanted, RATES, plan, latency_s=1.0, options={"reallocation_cost": "10ms"})
    dear = decide(wanted, RATES, plan, latency_s=1.0, options={"reallocation_cost": "10s"})
    assert sizes(cheap) == assign_processors(NETWORK, 9).executors
    assert not scaled(dear)
    assert "do not outweigh a stop of 10s" in dear[0].reason


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_every_answer_to_problem_8_is_min_processors_and_within_bounds(data):
    rates = {name: (data.draw(st.floats(1, 50)), data.draw(st.floats(1, 20))) for name in ABC.operators}
    plan = {name: data.draw(st.integers(1, 60)) for name in ABC.operators}
    latency_s = data.draw(st.floats(0.01, 20))
    wanted = goal(ABC, latency=data.draw(st.floats(0.1, 5)), total=200)
    decisions = decide(wanted, rates, plan, latency_s=latency_s)
    assert sum(sizes(decisions)) <= 200
    assert min(sizes(decisions)) >= 1
    total, before = sum(sizes(decisions)), sum(plan.values())
    if scaled(decisions) and latency_s > wanted.end_to_end.latency_s:
        assert total >= before
    if total < before:
        assert latency_s < wanted.end_to_end.latency_s


# --- when it cannot keep up


def test_executors_that_cannot_keep_up_serve_the_largest_share_they_can():
    rates = {"a": (100.0, 10.0), "b": (100.0, 5.0)}
    decisions = decide(goal(AB, total=9), rates, {"a": 5, "b": 4})
    assert sizes(decisions) == (3, 6)
    assert "can serve 30% of the load" in decisions[0].reason


def test_an_operator_that_its_bound_keeps_from_keeping_up_does_not_stop_the_others():
    wanted = goal(AB, latency="2s", most={"a": 2})
    decisions = decide(wanted, {"a": (100.0, 10.0), "b": (100.0, 5.0)}, {"a": 2, "b": 1}, latency_s=50.0)
    assert scaled(decisions)["b"] >= 3
    assert "by the model alone" in decisions[0].reason


# --- micro-batches


def microbatch_policy(wanted, costs, plans, **options):
    """A policy that has seen `costs` seconds a batch at each of `plans`."""
    policy = policy_for(wanted, model="auto", **options)
    count, time_s = 0, 0.0
    for cost_s, plan in zip(costs, plans, strict=True):
        spent_s = 0.0
        for _ in range(3):
            count, time_s, spent_s = count + 5, time_s + 1, spent_s + 5 * cost_s
            seen = batch(count, cost_s)
            policy.decide(observe(ONE, {"a": (400.0, 200.0)}, plan, time_s=time_s, batches={"a": seen}))
    return policy, count


ONE = chain("a")


def test_where_there_are_batches_the_micro_batch_model_is_used():
    policy, count = microbatch_policy(goal(ONE, latency="2s", total=50), [0.2], [{"a": 4}])
    now = observe(ONE, {"a": (400.0, 200.0)}, {"a": 4}, latency_s=0.5, batches={"a": batch(count + 5, 0.2)})
    decisions = policy.decide(now)
    slow_s = MicroBatch(400, 200, 0.2).sojourn_s(3) * 0.5 / MicroBatch(400, 200, 0.2).sojourn_s(4)
    assert scaled(decisions) == {"a": 3}
    assert f"predicted latency {slow_s * 1000:.0f}ms" in decisions[0].reason


def test_above_t_max_nothing_is_removed_even_where_the_model_has_executors_do_harm():
    wanted = goal(ONE, latency="2s", total=50)
    # Costs of 0.2 s a task: the best number is k* = A + sqrt(A² + c0·A/c1) = 4 for A = 2 and c0 = 0.
    policy, count = microbatch_policy(wanted, [0.4, 0.8], [{"a": 2}, {"a": 4}])
    now = observe(ONE, {"a": (400.0, 200.0)}, {"a": 9}, latency_s=5.0, batches={"a": batch(count + 5, 1.8)})
    policy.decide(now)
    policy.decide(later(now, 1.0))
    decisions = policy.decide(later(now, 2.0))
    assert not scaled(decisions)
    assert "the model asks for 4 executors only: hold until it recovers" in decisions[0].reason


def test_nothing_is_removed_before_latency_is_measured_even_where_the_model_has_executors_do_harm():
    wanted = goal(ONE, latency="20s", total=50)
    policy, count = microbatch_policy(wanted, [0.4, 0.8], [{"a": 2}, {"a": 4}])
    now = observe(ONE, {"a": (400.0, 200.0)}, {"a": 9}, latency_s=None, batches={"a": batch(count + 5, 1.8)})
    policy.decide(now)
    policy.decide(later(now, 1.0))
    decisions = policy.decide(later(now, 2.0))
    assert not scaled(decisions)
    assert "no executor is removed before latency is measured" in decisions[0].reason


def test_a_model_of_batches_waits_until_one_is_measured():
    [a] = decide(goal(ONE, total=5), {"a": (400.0, 200.0)}, {"a": 4}, options={"model": "microbatch"})
    assert a == Hold(pool="a", reason="the cost of a batch of a was not measured yet: hold")


# --- what is not known


@pytest.mark.parametrize(
    ("rates", "external_rate", "words"),
    [
        ({"a": (None, 4.0), "b": (10.0, None)}, 10.0, "the arrival rate of 'a' was not measured"),
        ({"a": (10.0, None), "b": (10.0, None)}, 10.0, "the service rate of 'a' was not measured yet"),
        ({"a": (10.0, 4.0), "b": (10.0, 6.0)}, 0.0, "nothing enters, and records on their way"),
    ],
)
def test_what_is_not_known_is_named_and_everything_holds(rates, external_rate, words):
    decisions = decide(goal(AB, total=9), rates, {"a": 2, "b": 2}, external_rate=external_rate)
    assert [type(decision) for decision in decisions] == [Hold, Hold]
    assert all(words in decision.reason for decision in decisions)


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ({"a": (None, 4.0), "b": (10.0, 6.0)}, "the arrival rate of 'a' was not measured"),
        ({"a": (10.0, None), "b": (10.0, 6.0)}, "the service rate of 'a' was not measured yet"),
    ],
)
def test_decisions_about_other_pools_go_on_while_one_cannot_be_measured(rates, words):
    a, b = decide(goal(AB, "1s"), rates, {"a": 2, "b": 1}, external_rate=10.0)
    assert (type(a), type(b)) == (Hold, Scale)
    assert words in a.reason
    assert b.executors > 1, "one executor serves 6 of its 10 records a second"


def test_nobody_takes_what_an_unmeasured_pool_may_need():
    a, b = decide(goal(AB, total=9), {"a": (None, 4.0), "b": (10.0, 6.0)}, {"a": 2, "b": 2}, external_rate=10.0)
    assert (type(a), type(b)) == (Hold, Hold)


def test_no_more_executors_are_asked_for_than_the_cluster_has_room_for():
    rates = {"a": (10.0, 1.0), "b": (10.0, 6.0)}
    wanted = decide(goal(AB, "1s"), rates, {"a": 2, "b": 2}, capabilities=Capabilities(room=7))
    assert sum(decision.executors for decision in wanted) == 7
    assert "can serve" in wanted[0].reason


def test_an_unknown_rate_from_outside_holds():
    policy = policy_for(goal(AB, total=9))
    seen = observe(AB, RATES, {"a": 2, "b": 2})
    measures = seen.measures
    unknown = type(measures)(measures.interval_s, measures.operators, None, None)
    decisions = policy.decide(type(seen)(seen.snapshot, unknown, seen.plan))
    assert decisions[0].reason == "the rate at the sources was not measured: hold"


def test_a_service_rate_is_remembered_while_nothing_completes():
    policy = policy_for(goal(AB, total=9))
    policy.decide(observe(AB, RATES, {"a": 5, "b": 4}))
    unserved = {"a": (15.0, None), "b": (15.0, None)}
    decisions = policy.decide(observe(AB, unserved, {"a": 5, "b": 4}, time_s=11.0))
    assert sizes(decisions) == assign_processors(Network.of(15.0, a=mmk(15, 4), b=mmk(15, 6)), 9).executors


# --- pace


def test_it_waits_while_a_change_is_under_way_anywhere():
    decisions = decide(goal(AB, total=9), RATES, {"a": 4, "b": 5}, settling=["b"])
    assert [decision.reason for decision in decisions] == ["pool b is still settling: hold"] * 2


def test_after_an_act_it_waits_for_measures_of_the_new_plan_alone():
    policy = policy_for(goal(AB, latency="2s"), smoothing="window:3")
    start = observe(AB, RATES, {"a": 3, "b": 2}, latency_s=10.0)
    first = policy.decide(start)
    assert scaled(first)
    now = acted(start, first, 1.0)
    assert not scaled(policy.decide(later(now, 0, settling=frozenset({"a"}))))
    waited = [bool(scaled(policy.decide(later(now, turn)))) for turn in range(1, 6)]
    assert waited == [False, False, False, True, True]


def test_t_ra_passes_between_two_acts_and_before_the_first():
    policy = policy_for(goal(AB, total=9), t_ra="10s")
    start = observe(AB, RATES, {"a": 4, "b": 5}, time_s=100.0)
    [early, _] = policy.decide(start)
    assert isinstance(early, Hold)
    assert early.reason.startswith("least latency for 9 executors: scale out a 4 -> 5")
    assert early.reason.endswith("; t_ra of 10s, 10s left: hold")
    assert not scaled(policy.decide(later(start, 9)))
    first = policy.decide(later(start, 10))
    assert scaled(first) == {"a": 5, "b": 4}
    other = {"a": (10.0, 6.0), "b": (10.0, 4.0)}
    reversed_load = observe(AB, other, acted(start, first, 0).plan, time_s=111.0)
    policy.decide(reversed_load)
    assert not scaled(policy.decide(later(reversed_load, 8)))
    assert scaled(policy.decide(later(reversed_load, 9))) == {"a": 4, "b": 5}


def test_t_ra_forever_only_recommends():
    policy = policy_for(goal(AB, total=9), t_ra="forever")
    start = observe(AB, RATES, {"a": 4, "b": 5})
    for turn in range(1000, 4000, 1000):
        [a, _] = policy.decide(later(start, turn))
        assert isinstance(a, Hold)
        assert a.reason.startswith("least latency for 9 executors: scale out a 4 -> 5")
        assert a.reason.endswith("; t_ra is forever, this is only a recommendation: hold")


def test_t_m_passes_between_two_looks():
    policy = policy_for(goal(AB, total=9), t_m="1m")
    calm = observe(AB, RATES, {"a": 5, "b": 4}, time_s=0.0)
    policy.decide(calm)
    changed = observe(AB, {"a": (10.0, 6.0), "b": (10.0, 4.0)}, {"a": 5, "b": 4}, time_s=30.0)
    assert policy.decide(changed)[0].reason == "t_m of 1m: hold for 30s"
    assert scaled(policy.decide(later(changed, 30))) == {"a": 4, "b": 5}


# --- what an act costs


def test_an_act_that_does_not_make_up_for_its_cost_is_not_made():
    cheap = decide(goal(AB, total=9), RATES, {"a": 4, "b": 5}, options={"reallocation_cost": "10ms"})
    dear = decide(goal(AB, total=9), RATES, {"a": 4, "b": 5}, options={"reallocation_cost": "10s"})
    patient = decide(
        goal(AB, total=9), RATES, {"a": 4, "b": 5}, options={"reallocation_cost": "10s", "t_ra": "forever"}
    )
    assert scaled(cheap)
    assert not scaled(dear)
    assert "do not outweigh a stop of 10s" in dear[0].reason
    assert "only a recommendation" in patient[0].reason


def test_executors_are_not_removed_where_the_stop_would_break_the_promise():
    wanted, plan, latency_s = goal(AB, latency="1s"), {"a": 9, "b": 8}, NETWORK.expected_latency_s((9, 8))
    cheap = decide(wanted, RATES, plan, latency_s=latency_s, options={"reallocation_cost": "10ms"})
    dear = decide(wanted, RATES, plan, latency_s=latency_s, options={"reallocation_cost": "2s"})
    assert sum(sizes(cheap)) < 17
    assert not scaled(dear)
    assert "with a stop of 2s it would be " in dear[0].reason


def test_a_shortage_is_not_weighed_against_the_cost():
    options = {"reallocation_cost": "1h"}
    latency_s = NETWORK.expected_latency_s((3, 2))
    assert scaled(decide(TIGHT, RATES, {"a": 3, "b": 2}, latency_s=latency_s, options=options))


# --- models, margin, shared pools


def test_variation_changes_the_allocation_only_where_it_is_asked_for():
    observed = {"arrival_scv": 1.0, "service_scv": 1.0}
    rates, plan, wanted = {"a": (10.0, 4.0), "b": (10.0, 4.2)}, {"a": 4, "b": 4}, goal(AB, total=8)
    seen = observe(AB, rates, plan, **observed)
    bulky = seen.measures.operators["b"]
    seen.measures.operators["b"] = type(bulky)(
        **{**{field: getattr(bulky, field) for field in bulky.__struct_fields__}, "arrival_scv": 20.0}
    )
    by_model = {model: sizes(policy_for(wanted, model=model).decide(seen)) for model in ("mmk", "gigk", "auto")}
    assert by_model["mmk"] == (4, 4)
    assert by_model["gigk"] == by_model["auto"] == (3, 5)


def test_the_margin_is_not_counted_on():
    rates, plan = {"a": (10.0, 4.0)}, {"a": 3}
    assert not scaled(decide(goal(ONE, latency="2s"), rates, plan, latency_s=1.0))
    trusted = decide(goal(ONE, latency="2s"), rates, plan, latency_s=1.0, options={"margin": 0.2})
    assert scaled(trusted)["a"] >= 4


def test_operators_that_share_a_pool_are_one_queue_and_get_one_decision():
    plan = Plan(0, {"both": PoolPlan.of(4), "c": PoolPlan.of(6)}, {"a": "both", "b": "both", "c": "c"})
    rates = {"a": (10.0, 5.0), "b": (10.0, 10.0), "c": (10.0, 4.0)}
    decisions = decide(goal(ABC, total=10), rates, plan)
    one_queue = Network.of(10.0, both=mmk(20.0, 20 / 3), c=mmk(10.0, 4.0))
    assert [decision.pool for decision in decisions] == ["both", "c"]
    assert sizes(decisions) == assign_processors(one_queue, 10).executors


def test_the_same_observations_give_the_same_decisions():
    seen = [observe(AB, RATES, {"a": 4, "b": 5}, time_s=float(t), latency_s=0.8) for t in range(5)]
    one, other = policy_for(goal(AB, latency="2s")), policy_for(goal(AB, latency="2s"))
    assert [one.decide(each) for each in seen] == [other.decide(each) for each in seen]


def test_bounds_drawn_above_the_budget_do_not_stop_it():
    topology, plan = AB, {"a": 1, "b": 1}
    wanted = goal(topology, latency="10s", least={"a": 3, "b": 3})
    assert wanted.budget == Budget(None, {"a": 3, "b": 3})
    decisions = decide(wanted, {"a": (1.0, 4.0), "b": (1.0, 6.0)}, plan, latency_s=5.0)
    assert sizes(decisions) == (3, 3)
