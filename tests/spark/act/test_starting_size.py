"""What an application has asked for, and what it has while its executors are still starting."""

import pytest

from rheostat.clock import ManualClock
from rheostat.errors import ConfigError
from rheostat.spark.act.starting_size import StartingSize, asked_for, wait_until_settled

STANDALONE = "spark://host:7077"


@pytest.mark.parametrize(
    ("master", "settings", "told", "asked"),
    [
        (STANDALONE, {"spark.executor.instances": "3"}, {"target": 7}, 7),
        (STANDALONE, {}, {"target": 0}, 0),
        (STANDALONE, {"spark.executor.instances": "3"}, {}, 3),
        (STANDALONE, {"spark.executor.instances": "3"}, {"cores_max": 2}, 2),
        (STANDALONE, {}, {"cores_max": 4}, 4),
        (STANDALONE, {}, {}, None),
        ("yarn", {}, {}, 2),
        ("k8s://https://host", {}, {}, 2),
        ("yarn", {"spark.executor.instances": "6"}, {}, 6),
    ],
)
def test_what_was_asked_for_is_dynamic_allocations_target_or_what_the_settings_say(master, settings, told, asked):
    assert asked_for(master, settings.get, **told) == asked


def test_a_number_of_executors_that_is_none_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"spark\.executor\.instances 'many' is not a number"):
        asked_for(STANDALONE, {"spark.executor.instances": "many"}.get)


def test_executors_that_are_still_starting_count():
    size = StartingSize(3, timeout_s=60)
    assert [size.update(registered, 5.0 * registered) for registered in (0, 1, 2, 3)] == [3, 3, 3, 3]


def test_executors_beyond_what_was_asked_for_count_as_well():
    size = StartingSize(None, timeout_s=60)
    assert [size.update(registered, 0.0) for registered in (0, 2, 6)] == [0, 2, 6]


def test_one_that_dies_counts_until_it_should_have_been_replaced():
    size = StartingSize(2, timeout_s=60)
    assert [size.update(*seen) for seen in [(2, 0), (1, 10), (1, 69), (2, 70), (1, 80), (1, 139)]] == [2] * 6
    assert size.update(1, 140) == 1


def test_executors_that_do_not_come_are_given_up():
    size = StartingSize(10, timeout_s=60)
    assert [size.update(4, now_s) for now_s in (0, 59, 60)] == [10, 10, 4]


def test_without_a_timeout_the_size_is_what_is_registered():
    size = StartingSize(None, timeout_s=0)
    assert [size.update(registered, 0.0) for registered in (3, 1, 0, 2)] == [3, 1, 0, 2]


class Registering:
    """Executors that register at these times."""

    def __init__(self, *times_s):
        self.clock, self._times_s = ManualClock(), times_s

    def count(self):
        return sum(time_s <= self.clock.now() for time_s in self._times_s)


@pytest.mark.parametrize(
    ("times_s", "waited_s"), [((0, 0), 3), ((4, 5, 6), 9), ((20,), 23), ((), 30), ((0, 10), 3), (range(0, 60, 2), 30)]
)
def test_the_wait_ends_when_no_more_executors_register_or_it_takes_too_long(times_s, waited_s):
    registering = Registering(*times_s)
    wait_until_settled(registering.count, registering.clock)
    assert registering.clock.now() == pytest.approx(waited_s, abs=0.5)
