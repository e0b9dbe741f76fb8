"""When the loop does not do what a policy decides, and for how long."""

import pytest
from scripted import TOPOLOGY, Scripted, controller, rulings, scale, turns

from rheostat.journal import Journal
from rheostat.loop.turn import LoopProblem, Ruling
from rheostat.plan import Plan
from rheostat.snapshot import OperatorState, Snapshot
from rheostat.testing import FakePlant


def test_a_pool_is_left_alone_while_it_is_settling():
    plant = FakePlant(TOPOLOGY, settle_s=15.0)
    policy = Scripted([], scale(3), scale(2) + scale(2, "split"), scale(4))
    periods = turns(controller(plant, policy), plant, 4)
    assert rulings(periods)[1:] == [
        [("scale", "accepted")],
        [("scale", "refused"), ("scale", "accepted")],
        [("scale", "accepted")],
    ]
    assert [sorted(observation.settling) for observation in policy.shown] == [[], [], ["count"], ["split"]]


def test_more_executors_may_be_added_while_others_start():
    plant = FakePlant(TOPOLOGY, settle_s=15.0)
    periods = turns(controller(plant, Scripted([], scale(3), scale(5))), plant, 3)
    assert rulings(periods)[1:] == [[("scale", "accepted")], [("scale", "accepted")]]


def test_an_action_that_never_finishes_is_given_up():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    plant.obstacles = ("the cluster is full",)
    policy = Scripted([], scale(9), scale(1), [], scale(1))
    periods = turns(controller(plant, policy, journal=journal, action_timeout="30s"), plant, 6)
    assert rulings(periods)[2:] == [[("scale", "refused")], [], [("scale", "accepted")], []]
    assert journal.decisions()[0].note == "not finished after 30s"
    assert LoopProblem("apply", "the cluster is full") in periods[3].problems


def test_the_cooldown_lies_between_any_two_actions():
    plant = FakePlant(TOPOLOGY)
    policy = Scripted([], scale(2), scale(2, "split"), scale(2, "split"), scale(2, "split"))
    periods = turns(controller(plant, policy, cooldown="30s"), plant, 5)
    assert rulings(periods)[1:] == [
        [("scale", "accepted")],
        [("scale", "refused")],
        [("scale", "refused")],
        [("scale", "accepted")],
    ]


def test_while_paused_decisions_are_refused_but_what_is_wanted_is_still_made_real():
    plant = FakePlant(TOPOLOGY, settle_s=25.0)
    loop = controller(plant, Scripted([], scale(3), scale(2, "split"), [], [], scale(2, "split")))
    first = turns(loop, plant, 2)
    loop.pause()
    assert loop.paused
    paused = turns(loop, plant, 3)
    loop.resume()
    resumed = turns(loop, plant, 1)
    assert rulings(first + paused + resumed) == [
        [],
        [("scale", "accepted")],
        [("scale", "refused")],
        [],
        [],
        [("scale", "accepted")],
    ]
    assert paused[0].verdicts[0].why == "the controller is paused"
    assert [plan.revision for plan in plant.applied] == [1, 1, 1, 2]


@pytest.mark.parametrize("options", [{"dry_run": True}, {"cooldown": "forever"}])
def test_a_dry_run_recommends_and_touches_nothing(options):
    plant, journal = FakePlant(TOPOLOGY), Journal()
    start = Plan.initial(TOPOLOGY, 2)
    periods = turns(controller(plant, Scripted([], scale(3)), journal=journal, plan=start, **options), plant, 3)
    assert rulings(periods) == [[], [("scale", "dry-run")], []]
    assert plant.applied == []
    assert [kept.ruling for kept in journal.decisions()] == [Ruling.DRY_RUN]


def test_a_stale_snapshot_holds():
    plant = FakePlant(TOPOLOGY)
    policy = Scripted([], [], scale(3))
    loop = controller(plant, policy, max_age="15s")
    turns(loop, plant, 2)
    seen = plant.observe()
    plant.clock.wait_until(plant.clock.now() + 20.0)
    plant.script.append(seen)
    [period] = turns(loop, plant, 1)
    assert period.verdicts[0].why == "the snapshot is 20s old, more than the 15s allowed"
    assert plant.applied == []


def test_a_snapshot_that_is_not_newer_is_not_shown_twice():
    plant, policy = FakePlant(TOPOLOGY), Scripted()
    loop = controller(plant, policy)
    turns(loop, plant, 1)
    plant.script.append(Snapshot(0.0, ()))
    [period] = turns(loop, plant, 1)
    assert len(policy.shown) == 1
    assert period.problems == (LoopProblem("observe", "no snapshot is newer than the one at 0.000 s"),)
    assert turns(loop, plant, 1)[0].problems == ()


def test_an_operator_that_could_not_be_measured_holds():
    plant = FakePlant(TOPOLOGY)
    loop = controller(plant, Scripted([], scale(3) + scale(3, "split")))
    turns(loop, plant, 1)
    known = plant.observe()
    plant.script.append(Snapshot(10.0, (known.operators["split"], OperatorState("count")), known.executors[:1]))
    [period] = turns(loop, plant, 1)
    assert [(v.decision.subject, v.ruling.value) for v in period.verdicts] == [
        ("count", "refused"),
        ("split", "accepted"),
    ]
