"""Instructions that are carried out, by actuators that only remember them."""

import pytest
from sites import executors

from rheostat.errors import PlantError
from rheostat.spark.act.actuators.task_counts import NotYetError
from rheostat.spark.act.execute import Execution, FixedQueries
from rheostat.spark.act.instructions import (
    GroupRows,
    Kill,
    RearrangeQueries,
    RequestTotals,
    RouteTasks,
    WaitForLocality,
)
from rheostat.spark.state.executor_book import PoolSite

SITE = PoolSite("p")


class FakeActuators:
    """Remembers what was carried out; `errors` are raised instead, by type of instruction, until they are removed."""

    def __init__(self):
        self.done = []
        self.errors = {}
        self.closed = False

    def carry_out(self, instruction, now_s):
        if (error := self.errors.get(type(instruction))) is not None:
            raise error
        self.done.append(instruction)

    def close(self):
        self.closed = True


@pytest.fixture
def actuators():
    return FakeActuators()


def stated(executor, number, *, wait):
    """One instruction of each kind that states how something shall be."""
    return [
        RouteTasks("a", SITE, executors(executor)),
        RequestTotals({0: number}),
        WaitForLocality(wait),
        GroupRows("a", None, number, ("a",)),
    ]


def test_what_is_so_already_is_not_done_again_and_what_happens_once_is(actuators):
    execution = Execution([actuators])
    standing = [
        RouteTasks("a", SITE, executors("1")),
        RequestTotals({0: 1}),
        WaitForLocality(True),
        GroupRows("a", None, 1, ("a",)),
    ]
    assert execution.run([*standing, Kill(("1",))], 0.0) == ()
    actuators.done.clear()
    execution.run([*standing, Kill(("1",))], 1.0)
    assert actuators.done == [Kill(("1",))]
    actuators.done.clear()
    changed = [
        RouteTasks("a", SITE, executors("2")),
        RequestTotals({0: 2}),
        WaitForLocality(False),
        GroupRows("a", None, 2, ("a",)),
    ]
    execution.run(changed, 2.0)
    assert actuators.done == changed


def test_instructions_about_different_operators_do_not_replace_each_other(actuators):
    execution = Execution([actuators])
    both = [RouteTasks("a", SITE, ()), RouteTasks("b", SITE, ())]
    for time_s in (0.0, 1.0):
        execution.run(both, time_s)
    assert actuators.done == both


def test_what_is_refused_is_reported_does_not_hold_up_the_rest_and_is_tried_again(actuators):
    execution = Execution([actuators])
    actuators.errors[GroupRows] = PlantError("no such grouping")
    instructions = [GroupRows("a", "x", 1, ("a",)), RequestTotals({0: 1})]
    assert execution.run(instructions, 0.0) == ("no such grouping",)
    assert actuators.done == [RequestTotals({0: 1})]
    assert execution.run(instructions, 1.0) == ("no such grouping",)
    actuators.errors.clear()
    assert execution.run(instructions, 2.0) == ()
    assert actuators.done[-1] == instructions[0]


def test_what_was_so_before_a_refusal_is_done_again(actuators):
    execution = Execution([actuators])
    before = GroupRows("a", "load-aware", 1, ("a",))
    execution.run([before], 0.0)
    assert execution.groupings == {"a": "load-aware"}
    actuators.errors[GroupRows] = PlantError("no such grouping")
    execution.run([GroupRows("a", "x", 1, ("a",))], 1.0)
    assert execution.groupings == {}
    actuators.errors.clear()
    execution.run([before], 2.0)
    assert actuators.done == [before, before]
    execution.run([GroupRows("a", None, 1, ("a",))], 3.0)
    assert execution.groupings == {}


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        (GroupRows("a", "osg", 1, ("a",)), "operator 'a' cannot be grouped by 'osg'"),
        (RearrangeQueries((("s", "a"),)), "s\\+a cannot be fused"),
    ],
)
def test_the_queries_of_an_attached_application_are_not_changed(instruction, message):
    with pytest.raises(PlantError, match=message):
        FixedQueries().carry_out(instruction, 0.0)
    FixedQueries().carry_out(GroupRows("a", None, 2, ("a",)), 0.0)


def test_what_is_not_possible_yet_is_tried_again_without_a_word(actuators):
    execution = Execution([actuators])
    actuators.errors[GroupRows] = NotYetError("no query yet")
    instructions = [GroupRows("a", None, 1, ("a",))]
    assert execution.run(instructions, 0.0) == ()
    actuators.errors.clear()
    execution.run(instructions, 1.0)
    assert actuators.done == instructions


def test_all_actuators_are_closed(actuators):
    other = FakeActuators()
    Execution([actuators, other]).close()
    assert actuators.closed
    assert other.closed
