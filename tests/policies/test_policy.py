from typing import ClassVar

import pytest

from rheostat.policies.policy import Policy, PolicyOptions
from rheostat.policies.registry import make_policy
from rheostat.sla import Goal
from rheostat.topology import Operator, Source, Topology

GOAL = Goal(Topology("t", [Source("in"), Operator("work", inputs="in")]))


class EagerOptions(PolicyOptions, frozen=True, kw_only=True):
    share: float = 0.5


class VeryEager(Policy[EagerOptions]):
    """Scales out at once.

    Never in.
    """

    def decide(self, observation):
        return []


class Calm(Policy):
    def decide(self, observation):
        return []


def test_a_policy_gets_name_summary_and_options_from_its_class():
    assert (VeryEager.name, VeryEager.summary, VeryEager.Options) == ("very-eager", "Scales out at once.", EagerOptions)


def test_a_policy_has_its_goal_and_its_options():
    policy = make_policy(VeryEager, GOAL, {"share": "0.7"})
    assert (policy.goal, policy.options) == (GOAL, EagerOptions(share=0.7))
    assert VeryEager(GOAL).options == EagerOptions()


def test_a_policy_without_options_of_its_own_has_the_common_ones():
    assert (Calm.name, Calm.summary, Calm.Options) == ("calm", "", PolicyOptions)
    assert make_policy(Calm, GOAL, {"smoothing": "window:3"}).options.smoothing == "window:3"


def test_declared_names_and_options_win():
    class Renamed(VeryEager):
        name = "eager"
        summary = "as fast as it can"

    class Nested(Policy):
        class Options(PolicyOptions, frozen=True, kw_only=True):
            limit: int = 3

        def decide(self, observation):
            return []

    assert (Renamed.name, Renamed.summary, Renamed.Options) == ("eager", "as fast as it can", EagerOptions)
    assert make_policy(Nested, GOAL, {"limit": 4}).options.limit == 4


def test_a_class_that_passes_its_options_type_on_leaves_it_to_its_subclasses():
    from typing import TypeVar

    Any_ = TypeVar("Any_", bound=PolicyOptions)

    class Family(Policy[Any_]):
        def decide(self, observation):
            return []

    class Member(Family[EagerOptions]):
        order: ClassVar[int] = 1

    assert (Family.Options, Member.Options) == (PolicyOptions, EagerOptions)


def test_decide_must_be_written():
    class Idle(Policy):
        pass

    with pytest.raises(TypeError, match="decide"):
        Idle(GOAL)
