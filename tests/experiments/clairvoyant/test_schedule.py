from dataclasses import replace

import pytest
from one_operator import SURGE, scenario

from rheostat.experiments.clairvoyant.cheaper_schedules import Change, Cut, cheaper, merged
from rheostat.experiments.clairvoyant.schedule import RecordedSizes, Schedule, requested_steps, size_at, total_s
from rheostat.experiments.simulate import simulate


@pytest.mark.parametrize(("time_s", "size"), [(0, 2), (9.9, 2), (10, 4), (10 - 1e-9, 4), (19, 4), (20, 1), (99, 1)])
def test_a_size_holds_until_the_next_step(time_s, size):
    assert size_at(((0.0, 2), (10.0, 4), (20.0, 1)), time_s) == size


def test_executors_are_requested_ahead_and_leave_when_they_are_not_needed():
    assert requested_steps([1, 1, 1, 3, 3, 1, 1], 2, 5.0) == ((0.0, 1), (5.0, 3), (25.0, 1))


def test_executors_that_are_soon_needed_again_stay():
    assert requested_steps([3, 1, 3, 1, 1, 1], 2, 1.0) == ((0.0, 3), (3.0, 1))


def test_the_price_of_a_table():
    assert total_s({"a": ((0.0, 2), (10.0, 4)), "b": ((0.0, 1),)}, 30.0) == 20 + 80 + 30


def test_the_simulator_follows_it():
    result = simulate(scenario(100), Schedule, {"sizes": {"work": ((0.0, 1), (100.0, 3), (150.0, 1))}})
    assert result.policy == "schedule"
    assert result.executor_seconds == pytest.approx(100 + 150 + 50, abs=4)
    assert result.mean_executors == pytest.approx((100 + 150 + 50 - 2 * 5) / 200, abs=0.02)


def test_the_budget_bounds_it():
    result = simulate(scenario(100, total=2), Schedule, {"sizes": {"work": ((0.0, 5),)}})
    assert result.mean_executors == 2


def test_cheaper_neighbours_save_most_first():
    sizes = {"work": ((0.0, 1), (100.0, 3), (150.0, 1))}
    changes = cheaper(sizes, scenario(100))
    assert changes == [
        Change("work", by=-1, time_s=100.0),
        Cut("work", 100.0, 125.0),
        Cut("work", 125.0, 150.0),
        Change("work", later_s=1.0, earlier_s=1.0, time_s=100.0),
        Change("work", later_s=1.0, earlier_s=1.0, time_s=150.0),
    ]
    assert changes[4].applied(sizes) == {"work": ((0.0, 1), (100.0, 3), (149.0, 1))}
    assert cheaper(sizes, scenario(100), without=changes[:2]) == changes[2:]
    assert changes[2].applied(sizes) == {"work": ((0.0, 1), (100.0, 3), (125.0, 2), (150.0, 1))}


def test_blocks_of_a_long_schedule_are_changed_together_too():
    sizes = {"work": ((0.0, 1), (40.0, 3), (60.0, 1), (100.0, 3), (150.0, 1))}
    changes = cheaper(sizes, scenario(100))
    assert changes[0] == Change("work", by=-1, size=3)
    assert changes[0].applied(sizes) == {"work": ((0.0, 1), (40.0, 2), (60.0, 1), (100.0, 2), (150.0, 1))}
    later, earlier = Change("work", later_s=1.0), Change("work", earlier_s=1.0)
    assert {later, earlier} <= set(changes)
    assert later.applied(sizes) == {"work": ((0.0, 1), (41.0, 3), (60.0, 1), (101.0, 3), (150.0, 1))}
    assert earlier.applied(sizes) == {"work": ((0.0, 1), (40.0, 3), (59.0, 1), (100.0, 3), (149.0, 1))}


def test_what_a_policy_wanted_is_run_again_as_a_schedule():
    surge = scenario(SURGE, executors=1)
    recorded = RecordedSizes()
    first = simulate(surge, "threshold", listeners=[recorded])
    again = simulate(surge, Schedule, {"sizes": recorded.sizes})
    assert len(recorded.sizes["work"]) > 2
    assert (again.executor_seconds, again.success_rate) == (first.executor_seconds, first.success_rate)


def test_substreams_are_moved_where_hot_keys_change():
    keys = {"key": "word", "substreams": 12, "queues": "own"}
    hot = scenario(150, executors=4, keys={"hot_set": 0.25, "keys": 12, "load": 0.9}, **keys)
    source = replace(hot.model.sources["in"], weights=hot.model.values.get("work"), rotate_every_s=30.0, rotate_by=3)
    assert source.weights is not None
    changing = replace(hot, model=replace(hot.model, sources={"in": source}))
    sizes = {"work": ((0.0, 4),)}
    stays, moves = (simulate(changing, Schedule, {"sizes": sizes, "rebalance": each}) for each in (False, True))
    assert stays.decisions.get("move", 0) == 0
    assert moves.decisions["move"] > 3
    assert moves.success_rate > stays.success_rate


def test_steps_that_change_nothing_are_left_out():
    assert merged([(0.0, 2), (5.0, 2), (9.0, 3), (9.0, 1), (12.0, 2), (11.0, 1)]) == ((0.0, 2), (9.0, 1))
