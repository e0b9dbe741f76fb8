import pytest

from rheostat.decision import Hold, Scale
from rheostat.measure.measures import Measures, OperatorMeasures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.registry import make_policy
from rheostat.sla import Budget, Goal
from rheostat.snapshot import Snapshot, StreamState
from rheostat.topology import Operator, Source, Topology

INTERVAL_S = 10.0


def chain(selectivity, sources=("source",)):
    """Operator `one` reads the sources and writes `selectivity` records for each; `two` reads those."""
    parts = [*map(Source, sources), Operator("one", inputs=list(sources), selectivity=selectivity)]
    return Topology("t", [*parts, Operator("two", inputs="one")])


def observe(topology, time_s, external, one, two, plan, budget=None, settling=(), completed=None):
    """True rates of one executor of each operator; every source has the same part of the external rate."""
    operators = {
        "one": OperatorMeasures(arrival_rate=external, completion_rate=completed, service_rate=one),
        "two": OperatorMeasures(service_rate=two),
    }
    rows = round(external * time_s / len(topology.sources))
    streams = tuple(StreamState(name, "one", rows) for name in topology.sources)
    measures = Measures(INTERVAL_S, operators, external_rate=external)
    return Observation(Snapshot(time_s, (), streams=streams), measures, plan, frozenset(settling), budget or Budget())


def decisions(topology, turns, plan=None, budget=None, options=None, **fields):
    """Those of each interval, for the rates (source, one, two) of each; the plan stays as it is."""
    policy = make_policy("ds2", Goal(topology, budget=budget or Budget()), options or {})
    plan = plan or Plan.initial(topology, 1)
    found = []
    for turn, (external, one, two) in enumerate(turns):
        observation = observe(topology, turn * INTERVAL_S, external, one, two, plan, budget, **fields)
        found.append(list(policy.decide(observation)))
    return found


def sizes(topology, external, one, two, **more):
    last = decisions(topology, [(external, one, two)] * 3, **more)[-1]
    return tuple(each.executors if isinstance(each, Scale) else "hold" for each in last)


@pytest.mark.parametrize(
    ("sources", "external", "one", "selectivity", "two", "needed"),
    [
        (("s",), 100, 50, 400 / 50, 100, (2, 8)),
        (("s",), 200, 40, 700 / 40, 99, (5, 36)),
        (("s",), 200, 10, 700 / 10, 201, (20, 70)),
        (("s", "t"), 200, 50, 400 / 50, 100, (4, 16)),
        (("s", "t"), 400, 40, 700 / 40, 99, (10, 71)),
        (("s", "t"), 400, 10, 700 / 10, 201, (40, 140)),
    ],
)
def test_it_gives_the_published_sizes_in_one_step(sources, external, one, selectivity, two, needed):
    assert sizes(chain(selectivity, sources), external, one, two) == needed


def test_it_says_what_was_measured_and_what_that_brings():
    one, two = decisions(chain(8), [(100, 50, 100)] * 3)[-1]
    assert two.reason == (
        "the source rates keep 8.00 executors busy and need 8: scale out 1 -> 8, expected utilisation 100%"
    )
    assert one.predicted.utilisation == pytest.approx(1.0)


def test_more_are_given_by_the_scaling_factor():
    assert sizes(chain(8), 100, 50, 100, options={"scaling_factor": 0.3}) == (3, 11)


@pytest.mark.parametrize(("ratio", "needed"), [(None, ("hold", "hold")), (1.5, ("hold", "hold")), (1.1, (3, 10))])
def test_enough_by_the_rates_but_too_little_read_gives_more_by_the_ratio(ratio, needed):
    topology = chain(8)
    plan = Plan.initial(topology, {"one": 2, "two": 8})
    options = {"target_rate_ratio": ratio}
    assert sizes(topology, 100, 50, 100, plan=plan, options=options, completed=80.0) == needed


def test_one_executor_fewer_is_no_reason_for_an_action():
    topology = chain(8)
    assert sizes(topology, 100, 50, 100, plan=Plan.initial(topology, {"one": 3, "two": 9})) == ("hold", "hold")
    assert sizes(topology, 100, 50, 100, plan=Plan.initial(topology, {"one": 3, "two": 10})) == (2, 8)


def test_between_intervals_and_during_the_warm_up_it_holds():
    topology = chain(8)
    policy = make_policy("ds2", Goal(topology), {})
    plan = Plan.initial(topology, 1)
    acted = []
    for second in range(0, 62, 2):
        found = policy.decide(observe(topology, float(second), 100, 50, 100, plan))
        for decision in found:
            plan = plan.after(decision)
        if any(isinstance(each, Scale) for each in found):
            acted.append(second)
            plan = plan.after(Scale(pool="two", executors=2, reason="somebody else"))
    assert acted == [10, 40], "after one interval at first, then after two of warm-up and one of activation"


def test_while_a_pool_settles_and_without_rates_it_holds():
    topology = chain(8)
    plan = Plan.initial(topology, 1)
    policy = make_policy("ds2", Goal(topology), {})
    one, two = policy.decide(observe(topology, 0.0, 100, 50, 100, plan, settling=["one"]))
    assert (one.reason, type(two)) == ("settling after the last action: hold", Hold)
    last = decisions(topology, [(100, 50, None)] * 3)[-1]
    assert [each.reason for each in last] == ["the true rate of two was not measured: hold"] * 2


def test_a_budget_that_is_too_small_is_shared():
    one, two = sizes(chain(8), 100, 50, 100, budget=Budget(total=6))
    assert (1 if one == "hold" else one) + two == 6
