"""Nothing that goes wrong in a plant, a policy, a journal or a listener ends the loop."""

import logging

import pytest
from scripted import TOPOLOGY, Scripted, controller, rulings, scale, turns

from rheostat.errors import PlantError
from rheostat.journal import Journal
from rheostat.loop.turn import LoopProblem
from rheostat.snapshot import OperatorState, Snapshot
from rheostat.testing import FakePlant


@pytest.mark.parametrize("place", ["observe", "apply", "reached"])
def test_a_plant_that_fails_does_not_end_the_loop_and_is_told_once(place, caplog):
    plant, journal = FakePlant(TOPOLOGY, settle_s=15.0), Journal()
    loop = controller(plant, Scripted([], scale(2)), journal=journal)
    turns(loop, plant, 2)
    plant.failures[place] = PlantError("no route to the cluster")
    plant.settle_s = 1e9  # nothing settles meanwhile
    with caplog.at_level(logging.INFO, "rheostat"):
        failing = turns(loop, plant, 3)
        plant.failures.clear()
        healed = turns(loop, plant, 2)
    problem = LoopProblem(place, "PlantError: no route to the cluster")
    assert problem in failing[-1].problems
    assert problem not in healed[-1].problems
    assert [what for _, what in journal.problems()] == [problem, LoopProblem(place, "works again")]
    assert all(what.what for _, what in journal.problems())
    assert [record.message for record in caplog.records] == [f"{place}: {problem.what}", f"{place}: works again"]


def test_a_changed_problem_is_told_again():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    loop = controller(plant, Scripted(), journal=journal)
    for words in ("one", "one", "another"):
        plant.failures["observe"] = PlantError(words)
        turns(loop, plant, 1)
    assert [what.what for _, what in journal.problems()] == ["PlantError: one", "PlantError: another"]


def test_when_the_plant_does_not_say_what_it_reached_everything_is_left_alone():
    plant = FakePlant(TOPOLOGY)
    plant.failures["reached"] = PlantError("?")
    periods = turns(controller(plant, Scripted([], scale(3))), plant, 2)
    assert rulings(periods)[1] == [("scale", "refused")]
    assert periods[1].settling == {"split", "count"}


def test_a_policy_that_fails_holds_and_is_asked_again():
    plant, journal = FakePlant(TOPOLOGY), Journal()
    policy = Scripted([], ZeroDivisionError("0/0"), scale(3), ["scale it!"])
    periods = turns(controller(plant, policy, journal=journal), plant, 5)
    assert rulings(periods) == [[], [], [("scale", "accepted")], [], []]
    assert [what for _, what in journal.problems()] == [
        LoopProblem("policy", "ZeroDivisionError: 0/0"),
        LoopProblem("policy"),
        LoopProblem("policy", "TypeError: policy 'scripted' decided 'scale it!', which is not a Decision"),
        LoopProblem("policy"),
    ]


def test_a_snapshot_that_makes_no_sense_holds():
    plant = FakePlant(TOPOLOGY)
    loop = controller(plant, Scripted())
    turns(loop, plant, 1)
    plant.script.append(Snapshot(10.0, (OperatorState("split", "many"),)))
    [period] = turns(loop, plant, 1)
    assert [problem.place for problem in period.problems] == ["measure"]


def test_what_cannot_be_written_down_is_not_done(monkeypatch):
    plant, journal = FakePlant(TOPOLOGY), Journal()
    loop = controller(plant, Scripted([], scale(3), scale(3)), journal=journal)
    turns(loop, plant, 1)
    write = journal.write
    monkeypatch.setattr(journal, "write", lambda period: (_ for _ in ()).throw(OSError("disk full")))
    [unwritten] = turns(loop, plant, 1)
    assert unwritten.verdicts[0].why == "the journal could not be written"
    assert (unwritten.plan.size("count"), loop.plan.size("count"), plant.applied) == (1, 1, [])
    monkeypatch.setattr(journal, "write", write)
    assert rulings(turns(loop, plant, 1)) == [[("scale", "accepted")]]
    assert LoopProblem("journal", "OSError: disk full") in [what for _, what in journal.problems()]


def test_listeners_hear_of_every_turn_and_cannot_end_the_loop():
    heard = []

    def broken(period):
        raise RuntimeError("terminal gone")

    plant = FakePlant(TOPOLOGY)
    periods = turns(controller(plant, Scripted(), listeners=[broken, heard.append]), plant, 3)
    assert heard == periods
    assert periods[-1].problems == (LoopProblem("listener", "RuntimeError: terminal gone"),)


def test_a_defect_in_the_loop_itself_is_told_and_survived(monkeypatch, caplog):
    plant = FakePlant(TOPOLOGY)
    loop = controller(plant, Scripted())
    monkeypatch.setattr(loop, "_ask", lambda observation: 1 / 0)
    loop.run(for_="30s")
    assert [record.message for record in caplog.records] == ["loop: ZeroDivisionError: division by zero"]
