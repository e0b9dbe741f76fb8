"""Series and cost of a run on Spark."""

import pytest

from rheostat.experiments.on_spark.paid_executors import PaidExecutors
from rheostat.experiments.on_spark.run_figures import mean_executors
from rheostat.experiments.time_series import SeriesPoint


def point(time_s: float, **executors: int) -> SeriesPoint:
    return SeriesPoint(time_s=time_s, input_rate=1.0, latency_s=1.0, backlog=0, executors=executors, sla_met=None)


def test_each_point_holds_until_the_next_one():
    points = [point(1.0, a=2, b=1), point(5.0, a=4, b=1)]
    assert mean_executors(points, 10.0) == pytest.approx((3 * 5 + 5 * 5) / 10)
    assert mean_executors([], 10.0) == 0.0


def test_paid_executors_are_summed_between_two_times():
    paid = PaidExecutors.__new__(PaidExecutors)
    paid.samples = [(0.0, 1), (10.0, 3), (20.0, 2)]
    assert paid.executor_seconds(5.0, 15.0) == pytest.approx(5 * 1 + 5 * 3)
    assert paid.executor_seconds(15.0, 30.0) == pytest.approx(5 * 3 + 10 * 2)
