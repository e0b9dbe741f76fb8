import pytest

from rheostat.capabilities import Capabilities
from rheostat.decision import Effect, Hold, Scale
from rheostat.errors import ConfigError
from rheostat.measure.measures import Measures
from rheostat.plan import Plan, PoolPlan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a")])


def decide(options, plan, **capabilities):
    offered = Capabilities(**capabilities)
    observation = Observation(Snapshot(0.0, ()), Measures(0.0, {}), plan, capabilities=offered)
    return make_policy("static", Goal(TOPOLOGY), options).decide(observation)


def test_it_holds_whatever_there_is():
    decisions = decide({}, Plan.initial(TOPOLOGY, {"a": 3}))
    assert [(type(d), d.pool, d.predicted) for d in decisions] == [
        (Hold, "a", Effect(executors=3)),
        (Hold, "b", Effect(executors=1)),
    ]


def test_it_goes_once_to_the_number_it_was_told():
    plan = Plan.initial(TOPOLOGY)
    [first, second] = decide({"executors": 4}, plan)
    assert (type(first), first.executors, second.executors) == (Scale, 4, 4)
    assert first.reason == "4 executors configured: scale out 1 -> 4"
    after = plan.after(first).after(second)
    assert {type(d) for d in decide({"executors": 4}, after)} == {Hold}


def test_operators_can_be_told_one_by_one():
    [a, b] = decide({"executors": {"b": 2}}, Plan.initial(TOPOLOGY))
    assert (type(a), b.executors) == (Hold, 2)


def test_a_shared_pool_gets_one_decision_for_the_larger_number():
    shared = Plan(0, {"both": PoolPlan.of(1)}, {"a": "both", "b": "both"})
    [only] = decide({"executors": {"a": 2, "b": 3}}, shared)
    assert (only.pool, only.executors) == ("both", 3)


def test_more_executors_than_the_budget_allows_are_refused():
    with pytest.raises(ConfigError, match="executors 100000 for operator 'a': the budget allows 16 at most"):
        make_policy("static", Goal(TOPOLOGY, budget=Budget(16)), {"executors": 100_000})
    with pytest.raises(ConfigError, match="executors 2 for operator 'a': the budget asks for 3 at least"):
        make_policy("static", Goal(TOPOLOGY, budget=Budget(least={"a": 3})), {"executors": 2})


def test_no_executors_at_all_are_refused():
    with pytest.raises(ConfigError, match="executors 0 for operator 'b'"):
        decide({"executors": {"b": 0}}, Plan.initial(TOPOLOGY))


def test_it_takes_what_the_cluster_has_room_for():
    plan = Plan.initial(TOPOLOGY)
    decisions = decide({"executors": 3}, plan, room=plan.total + 3)
    assert [decision.executors for decision in decisions if isinstance(decision, Scale)] == [3, 2]
    assert decisions[1].reason == "3 executors configured, budget and cluster have room for 2: scale out 1 -> 2"
