"""Which operators a policy asks to have their records spread in another way."""

from pathlib import Path

import msgspec
import pytest

from rheostat.capabilities import Capabilities
from rheostat.decision import Regroup
from rheostat.experiments.scenario import ScenarioFile, make_scenario
from rheostat.experiments.simulate import simulate
from rheostat.loop.turn import Turn
from rheostat.measure.measures import Measures
from rheostat.plan import Plan
from rheostat.policies.observation import Observation
from rheostat.policies.regroup import GroupingOption, regroups
from rheostat.snapshot import OperatorState, Snapshot
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology(
    "all kinds",
    [
        Source("in"),
        Operator("any", inputs="in"),
        Operator("untimed", inputs="any"),
        Operator("partial", inputs="any", key="k", merge="sum"),
        Operator("sum", inputs="partial", key="k"),
    ],
)
NOW = {"any": "round-robin", "untimed": "round-robin", "partial": "key", "sum": "key"}
CHOICES = {
    "any": ("round-robin", "load-aware", "osg"),
    "untimed": ("round-robin", "load-aware"),
    "partial": ("key", "osg"),
    "sum": ("key",),
}


def asked(wanted: GroupingOption, plan: Plan | None = None, **now: str) -> dict[str, str]:
    states = tuple(OperatorState(name, grouping=grouping) for name, grouping in {**NOW, **now}.items())
    offered = Capabilities(groupings=CHOICES)
    plan = plan or Plan.initial(TOPOLOGY)
    seen = Observation(Snapshot(0.0, states), Measures(1.0, {}), plan, capabilities=offered)
    return {each.operator: each.reason for each in regroups(seen, wanted)}


def test_those_are_asked_that_can_have_what_is_wanted() -> None:
    assert asked("osg") == {
        "any": "records are spread by round-robin, osg is configured: regroup",
        "partial": "records are spread by key, osg is configured: regroup",
    }
    assert asked("load-aware").keys() == {"any", "untimed"}
    assert asked("batch-greedy") == {}


def test_who_has_what_is_wanted_or_is_told_already_is_left_alone() -> None:
    assert asked("osg", any="osg").keys() == {"partial"}
    told = Plan.initial(TOPOLOGY).after(Regroup(operator="partial", grouping="osg", reason="test"))
    assert asked("osg", told).keys() == {"any"}


def test_to_keep_is_to_ask_nobody() -> None:
    assert asked("keep") == {}


@pytest.mark.parametrize(("policy", "grouping"), [("dabs", "osg"), ("pa-sps", "load-aware")])
def test_on_the_simulator_a_keyed_operator_with_a_merge_behind_is_spread_by_load_and_one_without_is_not(
    policy: str, grouping: str
) -> None:
    told = {
        "name": "word count in two steps",
        "duration": "2m",
        "source": [{"name": "words", "load": 100}],
        "operator": [
            {"name": "partial", "inputs": ["words"], "key": "word", "substreams": 8, "merge": "sum", "executors": 3},
            {"name": "sum", "inputs": ["partial"], "key": "word", "substreams": 8},
        ],
    }
    scenario = make_scenario(msgspec.convert(told, ScenarioFile), Path())
    seen: dict[str, str | None] = {}

    def watch(period: Turn) -> None:
        if period.snapshot is not None:
            seen.update({state.name: state.grouping for state in period.snapshot.operator_states})

    result = simulate(scenario, policy, {"grouping": grouping}, listeners=[watch])
    assert seen == {"partial": grouping, "sum": "key"}
    assert result.completed == pytest.approx(result.arrived, abs=50)  # all but what is under way at the end
