"""A controller that starts with the journal of another goes on where that one was."""

import pytest
from scripted import TOPOLOGY, Scripted, controller, rulings, scale, turns

from rheostat.journal import Journal
from rheostat.plan import Plan
from rheostat.testing import FakePlant


def observed(policy):
    return [(o.snapshot.time_s, o.plan.revision) for o in policy.shown]


def test_a_restarted_controller_wants_the_last_plan_again(tmp_path):
    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted([], scale(3)), journal=journal), plant, 3)
    empty = FakePlant(TOPOLOGY, clock=plant.clock)
    with Journal(tmp_path / "j") as journal:
        loop = controller(empty, Scripted(), journal=journal, plan=Plan.initial(TOPOLOGY, 5))
        turns(loop, empty, 2)
    assert [plan.size("count") for plan in empty.applied] == [3]


def test_a_crash_between_writing_and_applying_loses_nothing(tmp_path):
    class Crash(BaseException):
        pass

    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        loop = controller(plant, Scripted([], scale(4)), journal=journal)
        turns(loop, plant, 1)

        def die(plan):
            raise Crash

        plant.apply = die
        with pytest.raises(Crash):
            loop.turn()
    del plant.apply
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted(), journal=journal), plant, 1)
    assert [plan.size("count") for plan in plant.applied] == [4]


def test_the_policys_state_is_recovered_without_acting(tmp_path):
    plant, first = FakePlant(TOPOLOGY), Scripted([], scale(2), [], [])
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, first, journal=journal), plant, 4)
    applied = len(plant.applied)
    second = Scripted(scale(9), scale(9), scale(9))
    with Journal(tmp_path / "j") as journal:
        loop = controller(plant, second, journal=journal, history=3)
        assert observed(second) == observed(first)[-3:]
        assert [o.measures for o in second.shown[1:]] == [o.measures for o in first.shown[-2:]]
        assert (loop.plan.size("count"), len(plant.applied)) == (2, applied)
        assert list(journal.runs().values())[-1].history == 3


def test_observations_from_before_the_span_of_the_history_are_not_shown(tmp_path):
    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted(), journal=journal), plant, 3)
    plant.clock.wait_until(60.0)
    policy = Scripted()
    with Journal(tmp_path / "j") as journal:
        controller(plant, policy, journal=journal, history=4)
    assert observed(policy) == [(20.0, 0)]


def test_a_policy_that_fails_on_a_recorded_observation_is_shown_the_next(tmp_path):
    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted(), journal=journal), plant, 3)
    policy = Scripted([], ValueError("no"), [])
    with Journal(tmp_path / "j") as journal:
        controller(plant, policy, journal=journal)
    assert len(policy.shown) == 3


def test_the_cooldown_is_respected_over_a_restart(tmp_path):
    plant = FakePlant(TOPOLOGY)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted([], scale(2)), journal=journal, cooldown="40s"), plant, 2)
    with Journal(tmp_path / "j") as journal:
        policy = Scripted([], [], *[scale(3)] * 4)
        periods = turns(controller(plant, policy, journal=journal, cooldown="40s"), plant, 4)
    assert rulings(periods) == [[("scale", "refused")]] * 3 + [[("scale", "accepted")]]


def test_the_outcome_of_an_action_is_observed_over_a_restart(tmp_path):
    plant = FakePlant(TOPOLOGY, settle_s=25.0)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted([], scale(2)), journal=journal), plant, 2)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted(), journal=journal), plant, 5)
        [decision] = journal.decisions()
    assert decision.observed.executors == 2


def test_a_clock_behind_the_journal_starts_without_a_history_and_is_not_blocked(tmp_path):
    plant = FakePlant(TOPOLOGY)
    plant.clock.wait_until(1000.0)
    with Journal(tmp_path / "j") as journal:
        turns(controller(plant, Scripted([], scale(2)), journal=journal), plant, 2)
    earlier, policy = FakePlant(TOPOLOGY), Scripted([], [], scale(3))
    with Journal(tmp_path / "j") as journal:
        periods = turns(controller(earlier, policy, journal=journal, cooldown="20s"), earlier, 3)
    assert len(policy.shown) == 3
    assert periods[0].problems[0].place == "history"
    assert rulings(periods)[-1] == [("scale", "accepted")]
