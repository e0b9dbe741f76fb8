import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.measure.measures import Measures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.within_budget import within_budget
from rheostat.sla import Budget
from rheostat.snapshot import Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("t", [Source("in"), Operator("a", inputs="in"), Operator("b", inputs="a", key="k", substreams=6)])


def granted(wanted, sizes, **budget):
    plan = Plan.initial(TOPOLOGY, sizes)
    observation = Observation(Snapshot(0.0, ()), Measures(1.0, {}), plan, budget=Budget(**budget))
    return within_budget(observation, wanted)


@pytest.mark.parametrize(
    ("wanted", "budget", "expected"),
    [
        ({"a": 3, "b": 5}, {}, {"a": 3, "b": 5}),
        ({"a": 3, "b": 9}, {}, {"a": 3, "b": 6}),
        ({"a": 3, "b": 5}, {"most": {"a": 2}}, {"a": 2, "b": 5}),
        ({"a": 8, "b": 4}, {"total": 6}, {"a": 4, "b": 2}),
        ({"a": 1, "b": 5}, {"total": 6}, {"a": 1, "b": 5}),
    ],
)
def test_bounds_substreams_and_the_budget_limit_it(wanted, budget, expected):
    assert granted(wanted, {"a": 2, "b": 2}, **budget) == expected


@settings(deadline=None)
@given(*[st.integers(1, 9)] * 4, st.integers(2, 20))
def test_it_never_exceeds_the_budget_nor_what_is_wanted(a, b, size_a, size_b, total):
    if size_a + size_b > total:
        return
    found = granted({"a": a, "b": b}, {"a": size_a, "b": size_b}, total=total)
    assert sum(found.values()) <= total
    assert found["a"] <= a
    assert found["b"] <= b
    assert sum(found.values()) == total or found == {"a": a, "b": min(b, 6)}
