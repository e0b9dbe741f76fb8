"""The experiments of the Ra-Stream paper: applications, placements and latencies."""

import pytest

from rheostat.experiments.reproduce.catalogue import catalogue
from rheostat.experiments.reproduce.rastream.applications import APPLICATIONS, DEBS, LIGHT_IO_MS, WORD_COUNT
from rheostat.experiments.reproduce.rastream.changing_rate import ENDS_S, PAPER_NODES, STEPS, saved_in_paper
from rheostat.experiments.reproduce.rastream.constant_rate import SETTLED_S, ConstantRateRuns
from rheostat.experiments.reproduce.rastream.node_usage import nodes_used, utilisations
from rheostat.experiments.reproduce.rastream.schedulers import EVEN, RA_STREAM, case
from rheostat.experiments.reproduce.rastream.throughput import PAPER as THROUGHPUT
from rheostat.experiments.reproduce.turn_log import simulate_with_log


def test_figures_9_to_18_are_there():
    names = [each.name for each in catalogue().of("rastream")]
    assert names == [f"rastream-fig{number}" for number in range(9, 19)]


@pytest.mark.parametrize("app", APPLICATIONS, ids=lambda app: app.name)
def test_the_applications_fill_the_papers_cluster(app):
    model = app.scenario(1000.0, 10.0).model
    tasks = sum(model.operator(name).executors for name in model.topology.operators)
    assert len(model.cluster.nodes) == 14
    assert 14 <= tasks <= 56


_VISITS = {
    WORD_COUNT.name: {"read": 1, "split": 1, "count": 1, "output": 1},
    DEBS.name: {
        "read": 1,
        "filter": 1,
        "detect": 0.9,
        "aggregate": 0.9,
        "store": 0.45,
        "anomaly": 0.36,
        "alert": 0.108,
    },
}
"""Records at each operator per input record."""


@pytest.mark.parametrize("app", APPLICATIONS, ids=lambda app: app.name)
def test_a_task_can_process_its_part_of_the_papers_highest_rate(app):
    for operator in app.operators:
        rate = THROUGHPUT[app.name][RA_STREAM] * _VISITS[app.name][operator["name"]] / operator["executors"]
        service_ms = float(operator["service"]["mean"].removesuffix("ms"))
        assert rate * (service_ms + LIGHT_IO_MS) / 1e3 < 1, operator["name"]


def test_the_papers_numbers_of_nodes_save_less_than_it_says():
    assert [round(100 * saved_in_paper(app)) for app in APPLICATIONS] == [47, 39]


def test_the_rates_change_as_in_the_paper():
    assert [rate for _, rate in STEPS] == [1800, 3000, 4500, 2700, 2000]
    assert [start_s for start_s, _ in STEPS] == [0, 60, 210, 270, 330]
    assert ENDS_S[:-1] == tuple(start_s for start_s, _ in STEPS[1:])
    assert all(len(numbers) == len(STEPS) for numbers in PAPER_NODES.values())


def test_ra_stream_places_word_count_on_few_nodes_and_shortens_the_way():
    scenario = WORD_COUNT.scenario(500.0, 24.0)
    even, ra_stream = (
        simulate_with_log(case(scenario, strategy, **more), 0)[1]
        for strategy, more in ((EVEN, {}), (RA_STREAM, {"frame": "10s"}))
    )
    assert nodes_used(even.turns[-1]) == 14
    assert nodes_used(ra_stream.turns[-1]) == 5
    assert ra_stream.latencies_s()[-1] < 0.7 * even.latencies_s()[-1]
    shares = [[share for _, share in utilisations(log)[-3:]] for log in (even, ra_stream)]
    assert max(shares[0]) < min(shares[1]) < 1


def test_latency_is_that_of_the_settled_time():
    scenario = WORD_COUNT.scenario(100.0, SETTLED_S + 15.0, period="5s")
    run = ConstantRateRuns(100.0, EVEN, (simulate_with_log(case(scenario, EVEN), 0)[1],))
    assert 0.008 < run.latency_ms.mean / 1e3 < 0.013
    assert run.nodes == 14
