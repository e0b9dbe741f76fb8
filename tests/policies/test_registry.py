import re
import warnings
from importlib.metadata import EntryPoint

import msgspec
import pytest

from rheostat.errors import ConfigError, TopologyError
from rheostat.policies import registry
from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.registry import OptionRow, PolicyWarning, make_policy, options_of, policies, policy_class
from rheostat.sla import Goal
from rheostat.topology import Operator, Source, Topology

GOAL = Goal(Topology("t", [Source("in"), Operator("work", inputs="in")]))


class MyOptions(PolicyOptions, frozen=True, kw_only=True):
    goal: int
    list_of: list[int] = msgspec.field(default_factory=list)


class Mine(Policy[MyOptions]):
    """A third party's policy."""

    def decide(self, observation):
        return []


class Underived:
    name = "underived"

    def decide(self, observation):
        return []


class Undecided(Policy):
    pass


@pytest.fixture
def offered(monkeypatch):
    """Lets a test offer policies as other packages would."""

    def offer(**points):
        found = [EntryPoint(name, value, registry.GROUP) for name, value in points.items()]
        monkeypatch.setattr(registry, "entry_points", lambda group: [p for p in found if p.group == group])

    return offer


def here(name):
    return f"{__name__}:{name}"


def test_the_built_in_policies_are_found_by_name():
    assert {"static", "threshold"} <= policies().keys()
    assert all(name == policy.name and policy.summary for name, policy in policies().items())


def test_another_packages_policy_is_found_by_its_entry_point(offered):
    offered(mine=here("Mine"))
    assert policy_class("mine") is Mine
    assert make_policy("mine", GOAL, {"goal": 3}).options.goal == 3


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("gone", "no_such_package:Policy", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("gone", here("Missing"), "AttributeError"),
        ("underived", here("Underived"), "it is not derived from rheostat.Policy"),
        ("undecided", here("Undecided"), "it does not define decide"),
        ("static", here("Mine"), "there is a policy 'static' already"),
        ("other", here("Mine"), "it calls itself 'mine'"),
    ],
)
def test_a_policy_that_cannot_be_used_is_named_and_left_out_and_the_others_stay(offered, name, value, why):
    offered(**{name: value, "mine": here("Mine")})
    with pytest.warns(PolicyWarning) as caught:
        found = policies()
    assert {"static", "threshold", "mine"} <= found.keys()
    assert not {Underived, Undecided} & set(found.values())
    assert f"policy {name!r} ({value}) is left out: {why}" in str(caught[0].message)


def test_good_entry_points_give_no_warning(offered):
    offered(mine=here("Mine"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policies()


def test_an_unknown_policy_is_refused_with_the_one_meant():
    with pytest.raises(ConfigError, match="no policy is called 'treshold'; did you mean 'threshold'"):
        make_policy("treshold", GOAL)


def test_an_unknown_option_is_refused_with_the_one_meant():
    with pytest.raises(ConfigError, match="policy 'threshold' has no option 'hihg'; did you mean 'high'"):
        make_policy("threshold", GOAL, {"hihg": 0.9})


def test_options_may_be_text():
    assert make_policy("threshold", GOAL, {"high": "0.9", "smoothing": "window:3"}).options.high == 0.9
    assert make_policy("static", GOAL, {"executors": "8"}).options.executors == 8
    assert make_policy("static", GOAL, {"executors": {"work": 2}}).options.executors == {"work": 2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"high": 1.5}, r"option 'high' cannot be 1.5: Expected float <= 1.0 \(Utilisation, as a share .* above which"),
        ({"high": "lots"}, "option 'high' cannot be 'lots': Expected float"),
        ({"low": 0.9}, "low 0.9 must be below high 0.8"),
        ({"smoothing": "mild"}, "smoothing 'mild' is not known"),
    ],
)
def test_a_wrong_value_is_refused_with_option_and_value(options, words):
    with pytest.raises(ConfigError, match=words):
        make_policy("threshold", GOAL, options)


def test_a_missing_option_is_named(offered):
    offered(mine=here("Mine"))
    with pytest.raises(ConfigError, match="policy 'mine' needs the option 'goal'"):
        make_policy("mine", GOAL)


def test_an_option_for_an_unknown_operator_is_refused():
    with pytest.raises(TopologyError, match="no operator 'wrok'"):
        make_policy("static", GOAL, {"executors": {"wrok": 2}})


def test_options_are_listed_with_default_and_description_the_common_ones_last():
    rows = options_of(policy_class("threshold"))
    assert [row.name for row in rows] == ["high", "low", "smoothing"]
    text = "Utilisation, as a share from 0 to 1, above which a pool gets one more executor. "
    assert rows[0] == OptionRow("high", 0.8, text + "Lower it to keep more in reserve for sudden load.")
    assert all(row.description for policy in policies().values() for row in options_of(policy))
    assert OptionRow("list_of", [], "") in options_of(Mine)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (Underived, "is not derived from rheostat.Policy"),
        (Undecided, "it does not define decide"),
        (Mine(GOAL, MyOptions(goal=1)), "is not derived from rheostat.Policy"),
    ],
)
def test_what_is_no_policy_is_refused(wrong, why):
    with pytest.raises(ConfigError, match=why):
        make_policy(wrong, GOAL)


BUILT_IN = [(policy, row) for name, policy in policies().items() for row in options_of(policy)]


@pytest.mark.parametrize(("policy", "row"), BUILT_IN, ids=[f"{policy.name}-{row.name}" for policy, row in BUILT_IN])
def test_an_option_says_what_it_does_and_when_to_change_it_without_words_of_the_papers(policy, row):
    what, _, when = row.description.partition(". ")
    assert what[0].isupper()
    advice = (
        "Raise",
        "Lower",
        "Set",
        "Change",
        "Choose",
        "Turn",
        "Smooth",
        "Shorten",
        "Lengthen",
        "Use",
        "Try",
        "Train",
    )
    assert any(word in when or word.lower() in when for word in advice)
    assert not re.search(r"[α-ωΔ]|\bT_\w+|\bK_\w+|\beq\.|DRS|PA-SPS|Storm|StreamSwitch|replica|degree", row.description)


class Forgetful(Policy):
    """Does not call the `__init__` of its base."""

    def __init__(self, goal, options):
        self.limit = 1

    def decide(self, observation):
        return ()


def test_a_policy_without_options_is_refused_by_its_class_and_what_is_missing():
    with pytest.raises(ConfigError, match=r"class Forgetful has no `options`.*super\(\).__init__\(goal, options\)"):
        make_policy(Forgetful, GOAL)
