import pytest
from one_operator import SURGE, scenario

from rheostat.experiments.clairvoyant.best_schedule import best_schedule
from rheostat.experiments.clairvoyant.fixed_sizes import cheapest_fixed
from rheostat.experiments.clairvoyant.lower_bound import lower_bound
from rheostat.experiments.clairvoyant.present_knower import causal_frontier, present_knower
from rheostat.experiments.clairvoyant.schedule import TARGET
from rheostat.experiments.simulate import simulate


@pytest.fixture(scope="module")
def surge():
    return scenario(SURGE, latency="500ms", window="4s", executors=1)


@pytest.fixture(scope="module")
def best(surge):
    return best_schedule(surge, runs=25)


@pytest.fixture(scope="module")
def fixed(surge):
    return cheapest_fixed(surge)


def test_it_meets_the_sla_between_the_bound_and_the_fixed_size(surge, best, fixed):
    assert best.is_met
    assert fixed.is_met
    assert lower_bound(surge).executor_seconds <= best.executor_seconds < fixed.executor_seconds
    assert best.executor_seconds <= 1.25 * (140 + 60 * 3)


def test_the_schedule_gives_the_same_when_it_is_run_again(surge, best):
    from rheostat.experiments.clairvoyant.schedule import Schedule

    result = simulate(surge, Schedule, {"sizes": best.sizes})
    assert (result.executor_seconds, result.success_rate) == (best.executor_seconds, best.success_rate)


def test_the_runs_are_limited_and_reported(surge):
    counted = []
    found = best_schedule(surge, runs=3, progress=counted.append)
    assert (found.runs, counted) == (3, [1, 2, 3])


def test_what_cannot_be_met_gives_the_best_there_is():
    hopeless = scenario(300, total=2)
    assert not best_schedule(hopeless, runs=8).is_met
    found = cheapest_fixed(hopeless)
    assert (found.is_met, found.sizes) == (False, {"work": 2})


def test_one_executor_fewer_than_the_fixed_size_is_too_few(surge, fixed):
    assert fixed.sizes == {"work": 4} or fixed.sizes == {"work": 3}
    fewer = scenario(SURGE, latency="500ms", window="4s", executors=fixed.sizes["work"] - 1)
    assert simulate(fewer, "static").success_rate < TARGET
    assert fixed.executor_seconds == 200 * fixed.sizes["work"]


def test_who_knows_the_present_is_late_for_a_surge_and_the_clairvoyant_is_not(surge, best):
    points = causal_frontier(surge, headrooms=(1.0, 2.0, 4.0))
    assert [point.headroom for point in points] == [1.0, 2.0, 4.0]
    met = [point.executor_seconds for point in points if point.is_met]
    assert all(best.executor_seconds < cost for cost in met)
    assert points[0].success_rate < TARGET


def test_who_knows_the_present_needs_no_more_than_that_where_nothing_changes():
    flat = scenario(250, executors=3)
    result = simulate(flat, present_knower(flat))
    assert (result.policy, result.success_rate, result.executor_seconds) == ("present-knower", 1.0, 600.0)


def test_the_bound_is_reached_where_the_future_is_flat():
    """All but the work that is not due at the end, and the part of an executor that cannot be left out."""
    for rate, executors in ((100, 1), (295, 3)):
        flat = scenario(rate, executors=executors, latency="500ms", window="4s")
        found, bound = best_schedule(flat, runs=12), lower_bound(flat).executor_seconds
        assert found.is_met
        assert bound <= found.executor_seconds <= 1.03 * bound + (executors - 1) * 4.5


@pytest.mark.slow
def test_it_is_never_dearer_than_fixed_sizes_or_a_knower_of_the_present_that_meet_the_sla():
    swing = {"shape": "sine", "base": 200, "amplitude": 150, "period": "100s"}
    for load, executors in ((swing, 4), (SURGE, 3), (150, 2)):
        tried = scenario(load, latency="1s", window="5s", executors=executors, total=8)
        fixed, frontier = cheapest_fixed(tried), causal_frontier(tried)
        found = best_schedule(tried, runs=10, fixed=fixed, frontier=frontier)
        met = [point.executor_seconds for point in frontier if point.is_met]
        assert found.is_met
        assert found.executor_seconds <= min([fixed.executor_seconds, *met]) + 1e-6
