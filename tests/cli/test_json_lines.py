import io
import json
import logging

from rheostat.cli.json_lines import JsonLines, log_as_json
from rheostat.journal import NullJournal
from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.policies.registry import make_policy
from rheostat.sla import SLA, Budget, Goal
from rheostat.testing import FakePlant
from rheostat.topology import Operator, Source, Topology

TOPOLOGY = Topology("line", [Source("in"), Operator("work", inputs="in")])


def test_every_line_is_an_object_and_outcomes_name_their_decision() -> None:
    goal, output = Goal(TOPOLOGY, (SLA("2s", "10s"),), Budget(total=3)), io.StringIO()
    plant = FakePlant(TOPOLOGY, arrival_rate=180.0)
    lines = JsonLines(goal.end_to_end, output)
    options = LoopOptions("1s", effect_window="3s")
    Controller(plant, make_policy("threshold", goal), goal, NullJournal(), options, listeners=[lines]).run(for_=90)
    told = [json.loads(line) for line in output.getvalue().splitlines()]
    assert {"decision", "outcome", "status"} <= {line["event"] for line in told}
    assert all({"time", "level", "message"} <= line.keys() for line in told)
    done = {line["decision"]: line for line in told if line["event"] == "decision" and line["ruling"] == "accepted"}
    outcomes = [line for line in told if line["event"] == "outcome"]
    assert outcomes
    for outcome in outcomes:
        assert outcome["operators"] == done[outcome["decision"]]["operators"] == ["work"]
    assert len([line for line in told if line["event"] == "status"]) == 2


def test_what_other_parts_log_has_the_same_form() -> None:
    output, log = io.StringIO(), logging.getLogger("rheostat")
    handlers, propagate = list(log.handlers), log.propagate
    try:
        log_as_json(output)
        log.warning("the cluster is %s", "gone")
    finally:
        log.handlers, log.propagate = handlers, propagate
    [line] = map(json.loads, output.getvalue().splitlines())
    assert (line["level"], line["event"], line["message"]) == ("warning", "log", "the cluster is gone")
