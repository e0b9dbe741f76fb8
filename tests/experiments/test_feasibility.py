"""Hand-made scenarios of which it is plain by how much they are beyond any policy."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from rheostat.experiments.feasibility import why_it_cannot_be_met
from rheostat.experiments.scenario import ScenarioFile, make_scenario, read_scenario

SHIPPED = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))

POSSIBLE = """
name = "possible"
duration = "200s"

[[source]]
name = "records"
load = 100
keys = { uniform = 8 }

[[operator]]
name = "parse"
inputs = ["records"]
service = { mean = "10ms" }

[[operator]]
name = "count"
inputs = ["parse"]
key = "word"
substreams = 8
service = { mean = "10ms" }

[[sla]]
latency = "1s"

[budget]
total = 4
"""


def reasons(*changes: tuple[str, str]) -> tuple[str, ...]:
    """Of the possible scenario with some of its text replaced."""
    text = POSSIBLE
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return why_it_cannot_be_met(make_scenario(msgspec.convert(tomllib.loads(text), ScenarioFile), Path()))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_scenarios_of_the_project_can_be_met(path):
    assert why_it_cannot_be_met(read_scenario(path)) == ()


def test_what_can_be_met_is_not_reported():
    assert reasons() == ()
    assert reasons(("load = 100", "load = 199")) == ()


def test_a_substream_that_needs_more_than_one_executor():
    load = '{ shape = "spike", base = 100, factor = 2, at = "100s", duration = "40s" }'
    weights = "{ table = [1, 1, 1, 14, 1, 1, 1, 0] }"
    (told,) = reasons(("load = 100", f"load = {load}"), ("{ uniform = 8 }", weights), ("total = 4", "total = 6"))
    assert told.startswith("substream 3 of 'count' needs 1.4 executors at ")
    assert ", one can serve it at most: its backlog gets " in told
    assert told.endswith(" old, SLA 1s over 10s")


def test_values_that_cost_more_make_their_substream_hot():
    costs = "cost_by_value = [8, 1, 1, 1, 1, 1, 1, 1]"
    text = 'substreams = 8\nservice = { mean = "10ms"'
    (told,) = reasons((text, f"{text}, {costs}"), ("load = 100", "load = 110"), ("total = 4", "total = 9"))
    assert told.startswith("substream 0 of 'count' needs 1.1 executors at 0s and 1.1 on average")


def test_a_substream_whose_few_late_records_the_others_make_up_for():
    spike = '{ shape = "spike", base = 100, factor = 1.05, at = "100s", duration = "40s" }'
    weights = "{ table = [97, 1, 1, 1] }"
    changes = (("load = 100", f"load = {spike}"), ("{ uniform = 8 }", weights))
    assert reasons(*changes, ("total = 4", "total = 9")) == ()


def test_where_another_operator_merges_partial_results_a_substream_may_be_hot():
    merged = 'key = "word"\nmerge = "sum"\ngrouping = "load-aware"'
    operator = '[[operator]]\nname = "sum"\ninputs = ["count"]\nkey = "word"\nservice = { mean = "1ms" }\n\n[[sla]]'
    changes = (("{ uniform = 8 }", "{ table = [1] }"), ("load = 100", "load = 150"), ("total = 4", "total = 9"))
    assert reasons(*changes, ('key = "word"', merged), ("[[sla]]", operator)) == ()


def test_a_budget_below_the_load():
    told = reasons(("load = 100", "load = 300"))
    assert told[0].startswith(
        "the topology needs 6 executors at 0s and 6 on average, the budget is 4: its backlog gets "
    )


def test_a_budget_that_leaves_one_operator_too_little():
    parse, count = ('["records"]\nservice = { mean = "%s" }', 'substreams = 8\nservice = { mean = "%s" }')
    (told,) = reasons((parse % "10ms", parse % "35ms"), (count % "10ms", count % "1ms"))
    assert told.startswith(
        "operator 'parse' needs 3.5 executors at 0s and 3.5 on average, the budget leaves 3 for it: "
    )


def test_a_short_peak_that_the_sla_bears():
    load = '{ shape = "spike", base = 100, factor = 3, at = "100s", duration = "1s" }'
    assert reasons(("load = 100", f"load = {load}")) == ()


def test_without_an_sla_only_a_backlog_that_is_left_counts():
    none = ('[[sla]]\nlatency = "1s"', "")
    spike = '{ shape = "spike", base = 100, factor = 3, at = "50s", duration = "20s" }'
    assert reasons(none, ("load = 100", f"load = {spike}")) == ()
    told = reasons(none, ("load = 100", "load = 300"))
    assert told[0].endswith("the budget is 4: a backlog of 1.67m is left at the end")


def test_nodes_with_too_few_slots():
    nodes = '[cluster]\nnodes = [{ name = "one", slots = 1 }]\n\n[budget]'
    told = reasons(("[budget]", nodes))
    assert told[0] == "the nodes have 1 slot, and the operators need 2 executors at least"


def test_nodes_whose_cores_are_below_the_load():
    nodes = '[cluster]\nnodes = [{ name = "one", slots = 8, cores = 1.5 }]\n\n[budget]'
    told = reasons(("[budget]", nodes))
    assert told[0].startswith(
        "the topology needs 2 executors at 0s and 2 on average, the nodes have 8 slots, which serve as much as 1.5: "
    )


def test_faster_nodes_serve_more():
    nodes = '[cluster]\nnodes = [{ name = "one", slots = 8, cores = 1.5, speed = 2 }]\n\n[budget]'
    assert reasons(("[budget]", nodes)) == ()


def test_an_sla_below_the_service_time():
    assert reasons(('latency = "1s"', 'latency = "15ms"')) == (
        "the mean latency is 20ms at least, without any queue: SLA 15ms over 10s",
    )
    assert reasons(('latency = "1s"', 'latency = "15ms"\noperator = "count"')) == ()


def test_an_sla_below_the_cost_of_a_batch_and_the_wait_for_the_next_one():
    batches = 'substreams = 8\nqueues = "batches"\nbatches = { fixed = "600ms", per_task = "10ms" }'
    assert reasons(("substreams = 8", batches)) == (
        "the mean latency is 1.04s at least, without any queue: SLA 1s over 10s",
    )
    assert reasons(("substreams = 8", batches), ("load = 100", "load = 1")) == ()
