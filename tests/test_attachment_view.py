"""What an attachment shows of itself, from turns of a loop around a plant made of arithmetic."""

import html
import logging
from xml.etree import ElementTree

import msgspec
import pytest

from rheostat.attachment import AttachmentLog
from rheostat.attachment_view import AttachmentView
from rheostat.decision import Hold, Scale
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.loop.turn import LoopProblem, Ruling, Verdict
from rheostat.names import OperatorName
from rheostat.plan import Plan
from rheostat.policies.policy import Policy
from rheostat.sla import SLA, Goal
from rheostat.snapshot import Latency
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("clicks <b>", [Source("queries"), Operator("application", inputs="queries")])
GOAL = Goal(TOPOLOGY, (SLA("5s", "30s"),))
STANDING = "latencies are estimated"


class Wants(Policy):
    """Wants so many executors, or none in particular."""

    executors = None

    def decide(self, observation):
        if self.executors is None:
            return [Hold(pool="application", reason="all is well: hold")]
        return [Scale(pool="application", executors=self.executors, reason="backlog 1,900 rows & more")]


class Loop:
    def __init__(self, *, dry_run=False):
        self.plant = FakePlant(TOPOLOGY, arrival_rate=1200, service_rate=1000, plan=Plan.initial(TOPOLOGY, 3))
        self.policy, self.log = Wants(GOAL), AttachmentLog({STANDING})
        self.view = AttachmentView(
            "clicks <b>", "wants", GOAL.slas[0], OperatorName("application"), dry_run, {STANDING}
        )
        options = LoopOptions("10s", dry_run=dry_run)
        self.controller = Controller(self.plant, self.policy, GOAL, options=options, plan=Plan.initial(TOPOLOGY, 3))

    def turns(self, number=3, *, latency_s=1.5, problems=(), loop_problems=()):
        for _ in range(number):
            self.plant.clock.wait_until(self.plant.clock.now() + 10.0)
            turn = self.controller.turn()
            seen = msgspec.structs.replace(
                turn.snapshot, latency=latency_s and Latency(10, latency_s), problems=tuple(problems)
            )
            turn = msgspec.structs.replace(turn, snapshot=seen, problems=tuple(loop_problems))
            self.view(turn)
            self.log(turn)

    def text(self, **how):
        return self.view.text(self.plant.clock.now(), **how)

    def html(self):
        return self.view.html(self.plant.clock.now())


def test_before_the_first_turn_it_says_so():
    assert Loop().text() == "'clicks <b>' attached: policy 'wants', SLA 5s over 30s\n  state  no turn of the loop yet"
    assert "no turn of the loop yet" in Loop().html()


def test_load_latency_executors_and_decision_are_shown():
    loop = Loop()
    loop.turns()
    assert loop.text(attached=False).splitlines() == [
        "'clicks <b>' detached: policy 'wants', SLA 5s over 30s",
        "  load       1,200 rows/s",
        "  latency    1.5s, within the 5s of the SLA",
        "  executors  3 of 3 wanted",
        "  decision   none yet",
    ]
    loop.policy.executors = 4
    loop.turns(1, latency_s=6.0)
    loop.turns(1, latency_s=None)
    text = loop.text()
    assert "latency    6s, above the 5s of the SLA" in text
    assert "executors  4 of 4 wanted" in text
    assert "decision   10s ago: scale to 4 executors: backlog 1,900 rows & more" in text


def test_problems_and_notes_are_shown_apart():
    loop = Loop()
    loop.turns(problems=[STANDING, "query 'a' failed: disk"], loop_problems=[LoopProblem("policy", "a defect")])
    lines = [line.strip() for line in loop.text().splitlines()[-3:]]
    assert lines == [
        "problem    policy: a defect",
        "problem    query 'a' failed: disk",
        f"note       {STANDING}",
    ]


def test_a_dry_run_recommends_what_the_policy_wants_now():
    loop = Loop(dry_run=True)
    assert loop.view.recommended is None
    loop.turns(1)
    assert loop.view.recommended is None
    loop.policy.executors = 7
    loop.turns(2)
    assert loop.view.recommended == 7
    assert "dry run: nothing is changed" in loop.text()
    assert "executors  3, 7 recommended" in loop.text()
    assert "decision   10s ago: would scale to 7 executors: backlog" in loop.text()
    loop.policy.executors = None
    loop.turns(1)
    assert loop.view.recommended == 3
    assert loop.plant.applied == []


def test_without_a_dry_run_the_plan_is_what_is_recommended():
    loop = Loop()
    loop.policy.executors = 5
    loop.turns()
    assert loop.view.recommended == 5


def test_a_refusal_is_shown_unless_it_hides_what_was_done():
    loop = Loop()
    loop.policy.executors = 4
    loop.controller.pause()
    loop.turns()
    assert "refused: scale to 4 executors (the controller is paused): backlog" in loop.text()
    loop.controller.resume()
    loop.turns(1)
    loop.controller.pause()
    loop.policy.executors = 6
    loop.turns(2)
    assert "decision   20s ago: scale to 4 executors" in loop.text()


def test_html_is_well_formed_escaped_and_draws_latency_and_executors():
    loop = Loop()
    loop.turns(1)
    assert "<svg" not in loop.html()
    loop.policy.executors = 4
    loop.turns(3, latency_s=8.0, problems=["<script>alert(1)</script>"])
    page = loop.html()
    root = ElementTree.fromstring(page)
    assert "<script>" not in page
    assert html.escape("'clicks <b>' attached") in page
    assert "backlog 1,900 rows &amp; more" in page
    labels = [picture.get("aria-label") for picture in root.iter("svg")]
    assert labels == ["latency", "executors"]
    points = [line.get("points").split() for line in root.iter("polyline")]
    assert [len(each) for each in points] == [4, 4]


def test_a_latency_that_is_not_known_leaves_the_curve_out():
    loop = Loop()
    loop.turns(3, latency_s=None)
    assert "latency    not measured" in loop.text()
    ElementTree.fromstring(loop.html())


def test_each_action_is_logged_with_its_reason_and_each_problem_when_it_begins(caplog):
    loop = Loop()
    with caplog.at_level(logging.INFO, "rheostat"):
        loop.turns(3, problems=[STANDING, "no streaming query is active"])
        loop.policy.executors = 4
        loop.turns(3)
        loop.turns(1, problems=["no streaming query is active"])
    told = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "rheostat"]
    assert told == [
        ("WARNING", "no streaming query is active"),
        ("INFO", "scale to 4 executors: backlog 1,900 rows & more"),
        ("WARNING", "no streaming query is active"),
    ]


def test_a_problem_of_which_only_numbers_change_is_logged_once(caplog):
    loop = Loop()
    for waiting in ("1,200 records wait for 59s", "2,400 records wait for 1.5m"):
        loop.turns(1, problems=[f"query 'q1' failed: disk; {waiting}"])
    loop.turns(1, problems=["query 'q2' failed: disk; 7 records wait for 1s"])
    assert [message.partition(";")[0] for message in caplog.messages] == [
        "query 'q1' failed: disk",
        "query 'q2' failed: disk",
    ]


def test_in_a_dry_run_the_same_advice_is_logged_once(caplog):
    loop = Loop(dry_run=True)
    with caplog.at_level(logging.INFO, "rheostat"):
        loop.policy.executors = 4
        loop.turns(5)
        loop.policy.executors = 5
        loop.turns(2)
    assert caplog.messages == [
        "would scale to 4 executors: backlog 1,900 rows & more",
        "would scale to 5 executors: backlog 1,900 rows & more",
    ]


@pytest.mark.parametrize("ruling", [Ruling.ACCEPTED, Ruling.REFUSED])
def test_what_was_decided_again_keeps_its_first_time(ruling):
    loop = Loop()
    loop.turns()
    decision = Scale(pool="application", executors=4, reason="again")
    turn = msgspec.structs.replace(loop.controller.turn(), verdicts=(Verdict(decision, ruling),))
    loop.view(turn)
    loop.view(msgspec.structs.replace(turn, time_s=turn.time_s + 50))
    assert "1m ago: " in loop.view.text(turn.time_s + 60)
