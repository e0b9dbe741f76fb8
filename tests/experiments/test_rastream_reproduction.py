"""Ra-Stream's experiments: what their figures are computed from."""

import pytest

from rheostat.experiments.reproduce.catalogue import catalogue
from rheostat.experiments.reproduce.course import follow
from rheostat.experiments.reproduce.rastream.applications import APPLICATIONS, WORD_COUNT
from rheostat.experiments.reproduce.rastream.fluctuation import ENDS_S, PAPER_NODES, STEPS
from rheostat.experiments.reproduce.rastream.steady import Steady
from rheostat.experiments.reproduce.rastream.strategies import EVEN, RA_STREAM, case
from rheostat.experiments.reproduce.rastream.usage import nodes_used, utilisations


def test_figures_9_to_18_are_there():
    names = [each.name for each in catalogue().of("rastream")]
    assert names == [f"rastream-fig{number}" for number in range(9, 19)]


@pytest.mark.parametrize("app", APPLICATIONS, ids=lambda app: app.name)
def test_the_applications_fill_the_papers_cluster(app):
    model = app.scenario(1000.0, 10.0).model
    tasks = sum(model.operator(name).executors for name in model.topology.operators)
    assert len(model.cluster.nodes) == 14
    assert 14 <= tasks <= 56


def test_the_rates_change_as_in_the_paper():
    assert [rate for _, rate in STEPS] == [1800, 3000, 4500, 2700, 2000]
    assert [start_s for start_s, _ in STEPS] == [0, 60, 210, 270, 330]
    assert ENDS_S[:-1] == tuple(start_s for start_s, _ in STEPS[1:])
    assert all(len(numbers) == len(STEPS) for numbers in PAPER_NODES.values())


def test_ra_stream_places_word_count_on_few_nodes_and_shortens_the_way():
    scenario = WORD_COUNT.scenario(500.0, 24.0)
    even, ra_stream = (
        follow(case(scenario, strategy, **more), 0)[1] for strategy, more in ((EVEN, {}), (RA_STREAM, {"frame": "10s"}))
    )
    assert nodes_used(even.periods[-1]) == 14
    assert nodes_used(ra_stream.periods[-1]) == 5
    assert ra_stream.latencies_s()[-1] < 0.7 * even.latencies_s()[-1]
    shares = [[share for _, share in utilisations(course)[-3:]] for course in (even, ra_stream)]
    assert max(shares[0]) < min(shares[1]) < 1


def test_latency_is_that_of_the_settled_time():
    scenario = WORD_COUNT.scenario(100.0, 80.0, period="5s")
    run = Steady(100.0, EVEN, (follow(case(scenario, EVEN), 0)[1],))
    assert 0.008 < run.latency_ms.mean / 1e3 < 0.013
    assert run.nodes == 14
