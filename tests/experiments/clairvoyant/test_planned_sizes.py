import math

import pytest
from one_operator import SURGE, scenario

from rheostat.experiments.clairvoyant.planned_sizes import planned_sizes
from rheostat.experiments.clairvoyant.steady_size import SteadySizes

BATCHES = {"queues": "batches", "batches": {"fixed": "400ms", "per_task": 0}}


def planned(family, headroom=1.0, load=SURGE, **fields):
    tried = scenario(load, **fields)
    return list(planned_sizes(tried, SteadySizes(tried), "work", family, headroom, start=5))


def test_by_work_each_slot_has_what_it_needs_with_headroom():
    assert planned("work", 1.0) == [1] * 60 + [3] * 60 + [1] * 80
    assert planned("work", 1.5) == [2] * 60 + [5] * 60 + [2] * 80


def test_by_latency_each_slot_has_what_its_load_needs_with_headroom():
    assert planned("latency", 1.0) == [2] * 60 + [4] * 60 + [2] * 80
    assert planned("latency", 1.5) == [2] * 60 + [5] * 60 + [2] * 80


@pytest.mark.parametrize("family", ["work", "latency"])
def test_records_that_become_dearer_need_more(family):
    cost = {"shape": "step", "steps": [[0, 1], ["60s", 3], ["120s", 1]]}
    assert planned(family, 1.0, load=100, cost=cost) == planned(family, 1.0, load=SURGE)


def test_no_more_than_there_are_can_serve_at_first_and_than_allowed_later():
    sizes = planned("work", 1.0, load=500, executors=2, total=4)
    assert sizes == [2] * 5 + [4] * 195


def test_gaps_that_are_shorter_than_a_start_are_bridged():
    gap = {"shape": "step", "steps": [[0, 100], ["60s", 300], ["80s", 100], ["83s", 300], ["120s", 100]]}
    assert planned("work", 1.0, load=gap) == [1] * 60 + [3] * 60 + [1] * 80


@pytest.mark.parametrize(("latency", "size"), [("2s", 3), ("1300ms", 4), ("1100ms", 5), ("1ms", 22)])
def test_a_size_keeps_the_latency_by_the_model_or_comes_near_to_the_least(latency, size):
    """Batches of 0.4 s / (1 - 2/k) and 1.5 of them; at least 0.6 s."""
    tried = scenario(200, latency=latency, total=50, **BATCHES)
    steady = SteadySizes(tried)
    assert steady.size("work", 200.0, steady.latency_s("work")) == size


def test_without_load_the_fewest_are_enough_and_an_sla_is_shared():
    tried = scenario(200)
    steady = SteadySizes(tried)
    assert steady.size("work", 0.0, 1.0) == 1
    assert steady.latency_s("work") == 2.0
    assert SteadySizes(scenario(200, latency=None)).latency_s("work") == math.inf
