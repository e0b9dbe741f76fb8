"""Metrics, read back with Prometheus' own parser, against the turns that they come from."""

import json
import re
from collections import Counter
from pathlib import Path

import httpx
import pytest
from dashboard_runs import GOAL, PLAN, SCRIPT, TOPOLOGY, LiveRun

from rheostat.loop.controller import Controller
from rheostat.loop.options import LoopOptions
from rheostat.policies.expectation import Expectation
from rheostat.policies.registry import make_policy
from rheostat.testing import FakePlant
from rheostat.web.metrics import ForecastErrors, RunMetrics

parser = pytest.importorskip("prometheus_client.parser")
DOCS = Path(__file__).parents[2] / "docs"


def run(policy="threshold", **options):
    """The turns of a minute with a load that rises beyond the budget, and the metrics after it."""
    metrics, turns = RunMetrics("clicks"), []
    plant = FakePlant(TOPOLOGY, arrival_rate=lambda time_s: 50.0 + 10.0 * time_s, plan=PLAN, settle_s=2.0)
    listeners = [turns.append, metrics]
    made = make_policy(policy, GOAL, options)
    Controller(plant, made, GOAL, None, LoopOptions("1s", cooldown="3s"), plan=PLAN, listeners=listeners).run(for_=60)
    return turns, samples(metrics.text())


def samples(text):
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_number_is_that_of_the_turns() -> None:
    turns, found = run()
    last = turns[-1]

    def value(name, **labels):
        return found[f"rheostat_{name}", tuple(sorted(labels.items()))]

    assert value("turns_total") == len(turns) == 61
    assert value("input_rate") == last.measures.external_rate
    for name, measured in last.measures.operators.items():
        assert value("operator_arrival_rate", operator=name) == measured.arrival_rate
        assert value("operator_queue_records", operator=name) == measured.queued
        assert value("operator_utilisation_ratio", operator=name) == measured.utilisation
    decided = Counter((v.decision.kind, v.ruling.value) for turn in turns for v in turn.verdicts)
    for (kind, ruling), count in decided.items():
        assert value("decisions_total", kind=kind, ruling=ruling, by="policy") == count
    missed = [turn.standings[0].missed for turn in turns if turn.standings[0].missed is not None]
    assert value("sla_windows_total", sla="1s over 5s", result="missed") == sum(missed)
    assert value("sla_windows_total", sla="1s over 5s", result="kept") == len(missed) - sum(missed)
    assert value("pool_executors_planned", pool="parse") == last.plan.size("parse")
    active = sum(1 for _ in last.snapshot.active("parse"))
    assert value("pool_executors", pool="parse", phase="active") == active
    assert value("executor_seconds_total") == sum(len(turn.snapshot.executors) for turn in turns[1:])
    assert value("executors_left") == 0
    assert value("turn_duration_seconds_count") == 61
    assert value("turn_duration_seconds_bucket", le="+Inf") == 61


def test_a_name_with_quotes_is_one_label() -> None:
    _, found = run()
    assert ("rheostat_operator_queue_records", (("operator", SCRIPT),)) in found


def test_every_name_is_documented_and_every_documented_name_exists() -> None:
    _, found = run("pa-sps", td="10s")
    given = {re.sub(r"_(bucket|sum|count)$", "", name) for name, _ in found}
    page = (DOCS / "metrics.md").read_text()
    rows = re.findall(r"^\| (`rheostat_.*?) \|", page, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert given <= documented
    assert documented - given <= {"rheostat_problem"}


def test_grafana_asks_only_for_what_there_is() -> None:
    documented = set(re.findall(r"`(rheostat_\w+)`", (DOCS / "metrics.md").read_text()))
    panels = json.loads((DOCS / "grafana-dashboard.json").read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    asked = {name for query in queries for name in re.findall(r"rheostat_\w+", query)}
    assert {name.removesuffix("_bucket") for name in asked} <= documented


def test_a_forecast_is_compared_once_its_time_is_over() -> None:
    errors, expected = ForecastErrors(), Expectation(10.0, 13.0, 60.0)
    for time_s, rate in ((10.0, 99.0), (11.0, 10.0), (12.0, 20.0)):
        errors.observe(time_s, rate, 1.0, expected)
        assert errors.last is None
    errors.observe(13.0, 20.0, 1.0, expected)
    assert errors.last == pytest.approx(0.2)  # 60 were expected, 50 came


def test_they_are_served_beside_the_page(live: LiveRun) -> None:
    answer = httpx.get(f"{live.dashboard.url}metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert ("rheostat_info", (("topology", "clicks"), ("version", "0.1.0"))) in samples(answer.text)
