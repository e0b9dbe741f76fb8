"""What an application has is the plan of an attachment until something is decided."""

import logging

from rheostat.attachment import PresentPlan
from rheostat.clock import ManualClock
from rheostat.sla import Goal
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
