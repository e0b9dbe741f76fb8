"""Interventions: pause, dry run and requested decisions, each with who it was, in the journal."""

import pytest

from rheostat.decision import Scale
from rheostat.errors import ConfigError
from rheostat.journal import Journal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import Ruling
from rheostat.plan import Plan, StaleDecisionError
from rheostat.policies.policy import Policy
from rheostat.policies.registry import make_policy
from rheostat.replay import replay
from rheostat.sla import SLA, Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("line", [Source("in"), Operator("work", inputs="in", key="k", substreams=4)])
GOAL = Goal(TOPOLOGY, (SLA("2s", "10s"),), Budget(total=4))


class Eager(Policy):
    """Changes something in every turn."""

    def decide(self, observation):
        return [Scale(pool="work", executors=1 + observation.plan.size("work") % 2, reason="eager")]


@pytest.fixture
def journal():
    with Journal() as opened:
        yield opened


def controller(journal, *, policy="static"):
    plan = Plan.initial(TOPOLOGY, 2)
    plant = FakePlant(TOPOLOGY, plan=plan)
    made = Controller(plant, make_policy(policy, GOAL), GOAL, journal, LoopOptions("1s"), plan=plan)
    made.run(for_=3)
    plant.clock.wait_until(4.0)
    return made


def scale(executors):
    return Scale(pool="work", executors=executors, reason="maintenance")


def test_a_request_is_carried_out_in_the_next_turn_and_recorded_with_who_asked(journal) -> None:
    loop = controller(journal)
    loop.request(scale(3), by="anna")
    [verdict] = loop.turn().ruled(Ruling.ACCEPTED)
    assert (verdict.decision.by, loop.plan.size("work")) == ("anna", 3)
    [recorded] = [each for each in journal.decisions() if each.decision.by]
    assert recorded.decision.by == "anna"
    assert [(each.kind, each.what, each.by) for each in journal.commands()] == [
        ("request", "work: scale to 3 executors", "anna")
    ]


def test_a_request_goes_through_the_guards(journal) -> None:
    loop = controller(journal)
    loop.request(scale(5), by="anna")
    verdict, *_ = loop.turn().verdicts
    assert (verdict.ruling, verdict.why) == (Ruling.REFUSED, "5 executors for pool 'work', which may have 4 at most")


def test_a_request_comes_before_what_the_policy_decides_about_the_same_pool(journal) -> None:
    loop = controller(journal, policy=Eager)
    loop.request(scale(3), by="anna")
    asked, decided = loop.turn().verdicts
    assert (asked.ruling, decided.ruling) == (Ruling.ACCEPTED, Ruling.REFUSED)
    assert decided.why == "a second decision in the same turn about work"


def test_a_pause_stops_the_policy_and_not_who_asks(journal) -> None:
    loop = controller(journal, policy=Eager)
    loop.pause(by="anna")
    [verdict] = loop.turn().verdicts
    assert verdict.why == "the controller is paused"
    loop._plant.clock.wait_until(5.0)
    loop.request(scale(4), by="anna")
    turn = loop.turn()
    assert [verdict.decision.by for verdict in turn.ruled(Ruling.ACCEPTED)] == ["anna"]
    assert (turn.paused, loop.plan.size("work")) == (True, 4)


def test_a_dry_run_begins_and_ends_while_it_runs(journal) -> None:
    loop = controller(journal, policy=Eager)
    loop.set_dry_run(True, by="anna")
    turn = loop.turn()
    assert [verdict.ruling for verdict in turn.verdicts] == [Ruling.DRY_RUN]
    assert turn.dry_run
    loop.set_dry_run(False, by="anna")
    loop._plant.clock.wait_until(5.0)
    assert [verdict.ruling for verdict in loop.turn().verdicts] == [Ruling.ACCEPTED]
    assert [command.kind for command in journal.commands()] == ["dry run", "end of dry run"]


def test_another_goal_is_recorded_in_words(journal) -> None:
    loop = controller(journal)
    loop.change_goal(slas=(SLA("5s", "30s"),), budget=Budget(total=8, least={"work": 2}), by="anna")
    [command] = journal.commands()
    assert (command.kind, command.by) == ("goal", "anna")
    assert command.what == "SLA 5s over 30s; at most 8 executors in all; work: 2 to any number"


def test_what_cannot_be_asked_for_is_refused_at_once(journal) -> None:
    loop = controller(journal)
    with pytest.raises(StaleDecisionError, match="no pool 'wrok'; did you mean 'work'"):
        loop.request(Scale(pool="wrok", executors=2, reason="test"), by="anna")
    with pytest.raises(ConfigError, match="who asked"):
        loop.request(scale(2), by="")
    assert journal.commands() == []


def test_a_pause_works_where_it_cannot_be_recorded(journal) -> None:
    loop = controller(journal)
    journal.close()
    loop.pause()
    assert loop.paused


def test_a_replay_leaves_out_what_was_asked_for(journal) -> None:
    loop = controller(journal)
    loop.request(scale(3), by="anna")
    loop.turn()
    assert replay(journal).differences == []
