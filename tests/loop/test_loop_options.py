import math

import pytest

from rheostat.errors import ConfigError
from rheostat.loop.options import LoopOptions


def test_durations_are_written_as_people_write_them():
    options = LoopOptions("5s", cooldown="3m", max_age=7, effect_window="500ms", action_timeout="1h")
    assert (options.period_s, options.cooldown_s, options.max_age_s) == (5.0, 180.0, 7.0)
    assert (options.effect_window_s, options.action_timeout_s) == (0.5, 3600.0)
    assert not options.dry_run


def test_a_snapshot_is_stale_after_three_periods_unless_told_otherwise():
    assert LoopOptions("5s").max_age_s == 15.0


@pytest.mark.parametrize("cooldown", ["forever", math.inf])
def test_an_endless_cooldown_is_the_passive_mode(cooldown):
    options = LoopOptions(cooldown=cooldown)
    assert (options.cooldown_s, options.dry_run) == (math.inf, True)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"period": 0}, "period 0 must be longer than zero"),
        ({"period": "1us"}, "period '1us' is too short: give at least 1ms"),
        ({"cooldown": "soon"}, "cooldown 'soon' is not a duration"),
        ({"max_age": -1}, "max_age -1 is not a duration"),
        ({"action_timeout": "0s"}, "action_timeout '0s' must be longer than zero"),
        ({"history": -1}, "history -1 must be a number of observations >= 0"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name(wrong, words):
    with pytest.raises(ConfigError, match=words):
        LoopOptions(**wrong)
