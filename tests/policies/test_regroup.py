"""Which operators a policy asks to have their records spread in another way."""

from rheostat.decision import Regroup
from rheostat.measure.measures import Measures
from rheostat.plan import Plan
from rheostat.policies.policy import Observation
from rheostat.policies.regroup import Wanted, regroups
from rheostat.snapshot import OperatorState, Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "all kinds",
    [
        Source("in"),
        Operator("stateless", inputs="in"),
        Operator("silent", inputs="stateless"),
        Operator("partial", inputs="stateless", key="k", merge="sum"),
        Operator("sum", inputs="partial", key="k"),
    ],
)
NOW = {"stateless": "round-robin", "silent": None, "partial": "key", "sum": "key"}


def asked(wanted: Wanted, plan: Plan | None = None, **now: str) -> dict[str, str]:
    states = tuple(OperatorState(name, grouping=grouping) for name, grouping in {**NOW, **now}.items())
    seen = Observation(Snapshot(0.0, states), Measures(1.0, {}), plan or Plan.initial(TOPOLOGY))
    return {each.operator: each.reason for each in regroups(TOPOLOGY, seen, wanted)}


def test_stateless_operators_and_those_with_a_merge_behind_are_asked_if_their_plant_has_a_choice() -> None:
    assert asked("osg") == {"stateless": "records are spread by round-robin", "partial": "records are spread by key"}


def test_who_has_what_is_wanted_or_is_told_already_is_left_alone() -> None:
    assert asked("osg", stateless="osg").keys() == {"partial"}
    told = Plan.initial(TOPOLOGY).after(Regroup(operator="partial", grouping="osg", reason="test"))
    assert asked("osg", told).keys() == {"stateless"}


def test_to_keep_is_to_ask_nobody() -> None:
    assert asked("keep") == {}
