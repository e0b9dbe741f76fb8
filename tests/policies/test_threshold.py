import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision import Effect, Hold, Scale
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan, PoolPlan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a")])


def decide(utilisation, plan=None, budget=None, settling=(), queued=None, **options):
    """`utilisation` is for each operator; 0.5, which moves nothing, where it says nothing."""
    policy = make_policy("threshold", Goal(TOPOLOGY, budget=budget or Budget()), options)
    operators = {
        name: OperatorMeasures(utilisation=utilisation.get(name, 0.5), queued=queued) for name in TOPOLOGY.operators
    }
    plan = plan or Plan.initial(TOPOLOGY, 4)
    measures = Measures(1.0, operators)
    return policy.decide(Observation(Snapshot(0.0, ()), measures, plan, frozenset(settling), policy.goal.budget))


def test_one_executor_is_added_above_the_upper_threshold_with_its_predicted_effect():
    [a, b] = decide({"a": 0.95})
    assert a == Scale(
        pool="a",
        executors=5,
        reason="utilisation 95% > 80%: scale out 4 -> 5, expected utilisation 76%",
        predicted=Effect(utilisation=pytest.approx(0.76), executors=5),
    )
    assert b == Hold(
        pool="b",
        reason="utilisation 50% is within [40%, 80%]: hold",
        predicted=Effect(utilisation=0.5, executors=4),
    )


def test_one_executor_is_removed_below_the_lower_threshold():
    [_, b] = decide({"b": 0.3})
    assert (b.executors, b.reason) == (3, "utilisation 30% < 40%: scale in 4 -> 3, expected utilisation 40%")


@pytest.mark.parametrize("utilisation", [0.4, 0.8])
def test_on_the_thresholds_themselves_it_holds(utilisation):
    assert isinstance(decide({"a": utilisation})[0], Hold)


def test_an_unmeasured_utilisation_holds():
    [a, _] = decide({"a": None})
    assert a == Hold(pool="a", reason="the utilisation was not measured: hold")


def test_queues_are_not_looked_at():
    assert decide({"a": 0.3}, queued=1e6) == decide({"a": 0.3}, queued=0.0)


def test_it_waits_while_a_change_is_under_way():
    assert decide({"a": 0.95}, settling=["a"])[0] == Hold(pool="a", reason="settling after the last action: hold")


@pytest.mark.parametrize(
    ("utilisation", "budget", "words"),
    [
        (0.95, Budget(most={"a": 4}), "at most 4 executors are allowed: hold"),
        (0.95, Budget(total=8), "budget and cluster have no room for more: hold"),
        (0.10, Budget(least={"a": 4}), "at least 4 executors are needed: hold"),
    ],
)
def test_the_budget_bounds_it_and_it_says_so(utilisation, budget, words):
    [a, _] = decide({"a": utilisation}, budget=budget)
    assert isinstance(a, Hold)
    assert words in a.reason


def test_two_operators_do_not_both_get_the_last_executor_of_the_budget():
    [a, b] = decide({"a": 0.95, "b": 0.95}, budget=Budget(total=9))
    assert (type(a), type(b)) == (Scale, Hold)


def test_a_scale_in_that_would_at_once_be_undone_is_not_made():
    [a, _] = decide({"a": 0.45}, plan=Plan.initial(TOPOLOGY, 2), low=0.6)
    assert isinstance(a, Hold)
    assert "one executor fewer would bring 90% > 80%: hold" in a.reason


def test_a_shared_pool_gets_one_decision():
    shared = Plan(0, {"both": PoolPlan.of(2)}, {"a": "both", "b": "both"})
    [only] = decide({"a": 0.9, "b": 0.9}, plan=shared)
    assert (only.pool, only.executors) == ("both", 3)


@settings(deadline=None)
@given(st.floats(0, 1.5), st.floats(0, 1.5), st.integers(1, 6), st.integers(2, 14))
def test_it_moves_by_one_at_most_and_never_leaves_the_budget(a, b, size, total):
    if total < 2 * size:
        return
    plan, budget = Plan.initial(TOPOLOGY, size), Budget(total=total)
    for decision in decide({"a": a, "b": b}, plan=plan, budget=budget):
        if isinstance(decision, Scale):
            assert abs(decision.executors - size) == 1
        plan = plan.after(decision)
    assert plan.total <= total
    assert min(plan.size("a"), plan.size("b")) >= 1
