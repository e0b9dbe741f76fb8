from pathlib import Path

import pytest
from compared_runs import compared_run
from small_scenario import write_small

from rheostat.experiments.comparison import tuning
from rheostat.experiments.comparison.tuning import best_options, candidates
from rheostat.experiments.scenario import read_scenario


def test_the_cheapest_of_those_that_meet_the_sla_is_best() -> None:
    tried = [
        ({}, [compared_run(success=1.0, cost=300)]),
        ({"a": 1}, [compared_run(success=0.995, cost=200), compared_run(success=0.985, cost=240)]),
        ({"a": 2}, [compared_run(success=0.98, cost=100)]),
    ]
    assert best_options(tried) == {"a": 1}


def test_if_none_meets_it_the_most_successful_is_best_and_of_equals_the_cheapest() -> None:
    tried = [
        ({}, [compared_run(success=0.7, cost=100)]),
        ({"a": 1}, [compared_run(success=0.8, cost=300)]),
        ({"a": 2}, [compared_run(success=0.8, cost=200)]),
    ]
    assert best_options(tried) == {"a": 2}


def test_the_default_setting_takes_part_and_settings_beyond_the_budget_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = read_scenario(write_small(tmp_path)).goal
    grids = {"static": [{"executors": 4}, {"executors": 5}], "q-learning": [{"smoothing": "none"}]}
    monkeypatch.setattr(tuning, "GRIDS", grids)
    assert candidates(goal, "static") == [{}, {"executors": 4}]
    assert candidates(goal, "q-learning") == [{}, {"smoothing": "none"}]
    assert candidates(goal, "drs") == [{}]
