"""What an application has is the plan of an attachment until something is decided."""

import logging

import pytest

from rheostat.attachment import PresentPlan, _slas
from rheostat.clock import ManualClock
from rheostat.errors import ConfigError
from rheostat.sla import SLA, Goal
from rheostat.spark.act.starting_size import START_TIMEOUT_S, StartingSize
from rheostat.topology import Operator, Source, Topology

GOAL = Goal(Topology("app", [Source("queries"), Operator("application", inputs="queries")]))


class Pool:
    """An application that asked for three executors."""

    size = 0

    def starting_size(self, least, clock):
        return StartingSize(3)


def test_executors_that_register_late_are_in_the_plan_all_the_time():
    pool, clock = Pool(), ManualClock()
    present = PresentPlan(GOAL, pool, clock)
    for registered in (0, 1, 3):
        pool.size = registered
        assert present().size("application") == 3
    pool.size = 4
    assert present().size("application") == 4


def test_executors_that_do_not_come_leave_the_plan_and_that_is_said_once(caplog):
    pool, clock = Pool(), ManualClock()
    present = PresentPlan(GOAL, pool, clock)
    assert present().size("application") == 3
    clock.wait_until(START_TIMEOUT_S)
    with caplog.at_level(logging.INFO, "rheostat"):
        assert present().size("application") == 1
        present()
    assert caplog.messages == ["0 executors left of 3: the others have not started, or are gone"]


def test_slas_of_several_queries_become_the_strictest_and_weights():
    assert _slas("5s/30s") == (SLA("5s", "30s"), {"*": 1.0})
    slas = {"orders": "5s/1m", "reports": SLA("100s", "5m"), "*": "50s/30s"}
    assert _slas(slas) == (SLA("5s", "30s"), {"orders": 1.0, "reports": 0.05, "*": 0.1})


@pytest.mark.parametrize(
    ("sla", "why"),
    [({}, "names no query"), ({"orders": 5}, "sla 5 is no SLA"), ({"orders": "fast"}, "SLA latency 'fast'")],
)
def test_slas_that_cannot_be_used_are_refused(sla, why):
    with pytest.raises(ConfigError, match=why):
        _slas(sla)
