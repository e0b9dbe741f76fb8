"""Alerts: when they begin and end, and that they arrive."""

import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from rheostat.decision import Effect, Scale
from rheostat.errors import ConfigError
from rheostat.loop.turn import Outcome, Ruling, Turn, Verdict
from rheostat.measure.sla_standing import SlaStanding
from rheostat.plan import Plan
from rheostat.topology import Operator, Source, Topology
from rheostat.web.webhook import AlertRules, Webhook

PLAN = Plan.initial(Topology("t", [Source("in"), Operator("work", inputs="in")]), 3)


def turn(time_s, latency_s, *, left=None, **more):
    standings = (SlaStanding(latency_s, 2.0, "2s over 10s"),)
    return Turn(time_s=time_s, before=PLAN, plan=PLAN, standings=standings, executors_left=left, **more)


def found(*turns):
    rules = AlertRules("t")
    return [(alert.time_s, alert.event, alert.state) for each in turns for alert in rules.alerts(each)]


def test_a_violation_is_told_when_it_begins_and_when_it_ends() -> None:
    turns = [turn(number, latency_s) for number, latency_s in enumerate([None, 1.0, 3.0, 4.0, None, 1.5, 1.0, 2.5])]
    assert found(*turns) == [
        (2, "sla-violation", "began"), (5, "sla-violation", "ended"), (7, "sla-violation", "began"),
    ]  # fmt: skip


def test_a_budget_is_exhausted_where_more_is_needed_and_nothing_is_left() -> None:
    turns = [
        turn(0, 1.0, left=0),
        turn(1, 3.0, left=1),
        turn(2, 3.0, left=0),
        turn(3, 3.0, left=0),
        turn(4, 1.0, left=0),
    ]
    assert [each for each in found(*turns) if each[1] == "budget-exhausted"] == [
        (2, "budget-exhausted", "began"), (4, "budget-exhausted", "ended"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("predicted_s", "outcome", "alerted"),
    [
        (1.5, Outcome(7, Effect(latency_s=2.5)), True),
        (1.5, Outcome(7, Effect(latency_s=1.9)), False),
        (2.5, Outcome(7, Effect(latency_s=2.6)), False),  # it was not to keep the SLA
        (1.5, Outcome(7, note="not finished after 10m"), True),
        (1.5, Outcome(7, note="replaced by another action after 5s"), False),
    ],
)
def test_a_scaling_is_ineffective_if_it_does_not_bring_what_it_promised(predicted_s, outcome, alerted) -> None:
    scale = Scale(pool="work", executors=4, reason="busy", predicted=Effect(latency_s=predicted_s))
    decided = turn(0, 1.0, verdicts=(Verdict(scale, Ruling.ACCEPTED, revision=7),))
    events = [event for _, event, _ in found(decided, turn(1, 1.0, outcomes=(outcome,)))]
    assert events == (["ineffective-scaling"] if alerted else [])


def test_an_alert_is_posted_again_until_it_arrives() -> None:
    received: queue.Queue[dict[str, object]] = queue.Queue()
    statuses = [500, 200]

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = statuses.pop(0)
            self.send_response(status)
            self.end_headers()
            if status == 200:
                received.put(body)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        hook = Webhook(f"http://127.0.0.1:{server.server_port}/alerts", "t")
        hook(turn(5.0, 3.0))
        body = received.get(timeout=30)
        server.shutdown()
    assert body == {
        "event": "sla-violation", "state": "began", "time_s": 5.0, "topology": "t",
        "text": "SLA 2s over 10s is missed: latency 3s", "sla": "2s over 10s",
    }  # fmt: skip


@pytest.mark.parametrize("url", ["file:///etc/passwd", "example.org", "http://"])
def test_what_is_no_address_of_the_web_is_refused(url) -> None:
    with pytest.raises(ConfigError, match=f"webhook '{url}' is no address"):
        Webhook(url, "t")
