"""The experiments of the DRS paper: the chosen rates lead to the paper's allocations."""

import math

import pytest

from rheostat.experiments.reproduce.drs.applications import (
    FEW_LOGOS,
    MANY_LOGOS,
    Detection,
    logo_detection,
    pattern_detection,
)
from rheostat.experiments.reproduce.drs.fig7 import correlation, ratio
from rheostat.experiments.reproduce.drs.fig9 import LONG, first_after, minutes_of
from rheostat.experiments.reproduce.drs.passive_runs import FPD, OPTIONS, VLD, estimate_s, sizes_text
from rheostat.experiments.reproduce.sweep import Case
from rheostat.experiments.reproduce.turn_log import simulate_with_log
from rheostat.experiments.scenario import Scenario
from rheostat.queueing import GIGk, Network, Station, assign_processors, mmk


def network(scenario: Scenario, external_rate: float) -> Network:
    """The network that a perfect measurement of `scenario` would lead to."""
    topology = scenario.model.topology
    external = [external_rate if name in ("extract", "generate") else 0.0 for name in topology.operators]
    rates = _solved(topology.routing, external)
    stations = tuple(
        Station(name, mmk(rate, 1 / scenario.model.operator(name).service.mean_s))
        for name, rate in zip(topology.operators, rates, strict=True)
    )
    return Network(stations, external_rate)


def _solved(routing, external):
    rates = list(external)
    for _ in range(200):
        rates = [e + sum(r * routing[j][i] for j, r in enumerate(rates)) for i, e in enumerate(external)]
    return rates


def vld(detection: Detection, fps: float) -> Network:
    return network(logo_detection((1, 1, 1), fps=fps, detection=detection, duration="1m"), fps)


def test_the_model_recommends_the_papers_allocations_for_the_chosen_rates() -> None:
    assert assign_processors(vld(MANY_LOGOS, 13.0), 22).executors == VLD.recommended
    fpd = network(pattern_detection((1, 1, 1), duration="1m"), 320.0)
    assert assign_processors(fpd, 22).executors == FPD.recommended


@pytest.mark.parametrize("fps", [5.0, 6.0])
def test_at_seven_executors_the_two_models_choose_as_in_the_paper(fps: float) -> None:
    plain = vld(FEW_LOGOS, fps)
    assert assign_processors(plain, 7).executors == (3, 3, 1)
    bulky = [
        Station(s.name, GIGk(s.model.arrival_rate, s.model.service_rate, scv, 1.0))  # type: ignore[attr-defined]
        for s, scv in zip(plain.stations, (0.0, float(FEW_LOGOS.features), 1.0), strict=True)
    ]
    assert assign_processors(Network(tuple(bulky), fps), 7).executors == (2, 4, 1)


def test_neighbours_are_the_optimum_all_that_differ_by_one_executor_and_the_starts() -> None:
    assert set(VLD.neighbours()) == {
        (10, 11, 1), (9, 12, 1), (9, 11, 2), (11, 10, 1), (10, 10, 2), (8, 12, 2), (11, 9, 2),
    }  # fmt: skip
    assert VLD.neighbours()[0] == VLD.recommended
    assert len(FPD.neighbours()) == 8


def test_estimate_and_measurement_are_compared_over_allocations() -> None:
    points = {(1, 1): (1.0, 2.0), (2, 1): (2.0, 4.0), (1, 2): (3.0, 6.0)}
    assert correlation(points) == pytest.approx(1.0)
    assert ratio(points) == pytest.approx(2.0)


def test_a_turn_log_has_the_latencies_sizes_and_actions_of_a_run() -> None:
    scenario = logo_detection((8, 12, 2), fps=13.0, detection=MANY_LOGOS, duration="4m")
    result, log = simulate_with_log(Case(scenario, "drs", OPTIONS | {"smoothing": "none", "t_ra": "2m"}), seed=1)
    assert log.times_s() == [0.0, 60.0, 120.0, 180.0, 240.0]
    assert math.isnan(log.latencies_s()[0])
    mean_s, deviation_s = log.sojourn()
    assert mean_s == pytest.approx(result.mean_latency_s)
    assert deviation_s > 0
    [(minute, sizes), *_] = minutes_of(log)
    assert minute == 2
    assert sum(sizes) == 22
    assert first_after(log, 0, 4) == 2
    assert estimate_s(scenario, log, OPTIONS) > 0.9 * MANY_LOGOS.extract_s


def test_rates_change_when_the_paper_says() -> None:
    scenario = logo_detection((3, 5, 1), fps=LONG.load(), detection=FEW_LOGOS, duration="45m")
    load = scenario.model.source("frames").load
    assert [load.rate_at(60 * minute) for minute in (5, 7, 22, 35)] == [6, 12, 6, 18]


def test_allocations_are_written_as_in_the_paper() -> None:
    assert sizes_text((10, 11, 1)) == "10:11:1"
