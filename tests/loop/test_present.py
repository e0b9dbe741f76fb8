"""A plant that ran before the loop did: what it has is the plan until something is decided."""

import logging

import pytest
from scripted import GOAL, TOPOLOGY, Scripted, scale

from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.plan import Plan
from rheostat.sla import Budget, Goal
from rheostat.testing import FakePlant


class Present:
    """What runs, as a plan."""

    def __init__(self, executors):
        self.executors = executors

    def __call__(self):
        return Plan.initial(TOPOLOGY, {"split": 1, "count": self.executors})


def loop(present, policy, *, goal=GOAL, journal=None, **options):
    plant = FakePlant(TOPOLOGY, plan=present())
    return plant, Controller(
        plant, policy, goal, journal, LoopOptions("10s", **options), plan=present(), present=present
    )


def turn(plant, controller, number=1):
    for _ in range(number):
        last = controller.turn()
        plant.clock.wait_until(plant.clock.now() + 10.0)
    return last


def test_executors_that_come_without_a_decision_are_adopted_and_nothing_is_applied():
    present = Present(1)
    plant, controller = loop(present, policy := Scripted())
    turn(plant, controller)
    present.executors = 6
    turn(plant, controller, 3)
    assert controller.plan.size("count") == 6
    assert [shown.plan.size("count") for shown in policy.shown] == [1, 6, 6, 6]
    assert plant.applied == []


def test_from_the_first_decision_on_the_plan_is_what_was_decided():
    present = Present(3)
    plant, controller = loop(present, Scripted([], [], scale(4)))
    turn(plant, controller, 3)
    assert controller.plan.size("count") == 4
    present.executors = 7
    turn(plant, controller)
    assert controller.plan.size("count") == 4
    assert [plan.size("count") for plan in plant.applied] == [4]


def test_in_a_dry_run_the_plan_follows_what_runs_whatever_is_decided():
    present = Present(3)
    plant, controller = loop(present, Scripted([], [], scale(4)), dry_run=True)
    turn(plant, controller, 3)
    present.executors = 2
    turn(plant, controller)
    assert controller.plan.size("count") == 2
    assert plant.applied == []


@pytest.mark.parametrize(("executors", "later"), [(6, 6), (2, 6)])
def test_more_than_the_bounds_allow_is_reduced_and_said(executors, later, caplog):
    present, goal = Present(executors), Goal(TOPOLOGY, budget=Budget(most={"count": 4}))
    with caplog.at_level(logging.INFO, "rheostat"):
        plant, controller = loop(present, Scripted(), goal=goal)
        present.executors = later
        turn(plant, controller)
    assert controller.plan.size("count") == 4
    assert "7 executors, 5 at most allowed: reduced to 5" in caplog.messages
    plant.apply(Present(6)())
    turn(plant, controller)
    assert plant.applied[-1].size("count") == 4


def test_in_a_dry_run_the_bounds_change_nothing():
    goal = Goal(TOPOLOGY, budget=Budget(most={"count": 4}))
    plant, controller = loop(Present(6), Scripted(), goal=goal, dry_run=True)
    turn(plant, controller, 3)
    assert controller.plan.size("count") == 6
    assert plant.applied == []


def test_the_journal_has_each_plan_with_the_snapshots_taken_under_it():
    present, journal = Present(3), Journal()
    plant, controller = loop(present, Scripted([], [], scale(4)), journal=journal)
    turn(plant, controller)
    present.executors = 5
    plant.apply(present())
    turn(plant, controller, 3)
    assert [each.plan.size("count") for each in journal.recorded(1)] == [3, 5, 5, 4]
    assert [plan.revision for _, plan in journal.plans()] == [0, 1, 2]
    assert journal.resume(TOPOLOGY).decided


def test_a_journal_without_a_decision_is_resumed_from_what_runs_now():
    journal = Journal()
    plant, controller = loop(Present(3), Scripted(), journal=journal)
    turn(plant, controller)
    assert not journal.resume(TOPOLOGY).decided
    plant, controller = loop(Present(5), Scripted(), journal=journal)
    turn(plant, controller)
    assert controller.plan.size("count") == 5
    assert plant.applied == []


def test_a_decision_in_the_journal_is_in_force_again():
    journal = Journal()
    plant, controller = loop(Present(3), Scripted([], [], scale(4)), journal=journal)
    turn(plant, controller, 3)
    plant, controller = loop(Present(2), Scripted(), journal=journal)
    turn(plant, controller)
    assert [plan.size("count") for plan in plant.applied] == [4]


def test_what_runs_is_unknown_for_a_while_and_the_plan_stays():
    present = Present(3)
    plant, controller = loop(present, Scripted())
    present.executors = 0
    problems = turn(plant, controller).problems
    assert [problem.place for problem in problems] == ["present"]
    assert controller.plan.size("count") == 3
    present.executors = 2
    assert turn(plant, controller).problems == ()
