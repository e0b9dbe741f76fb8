"""The batch under way, as it is read at any moment, against a batch computed by hand."""

import pytest
from plants import exponential, fixed, keyed, one_operator, plant

from rheostat.load import Step
from rheostat.sim.model import Batches
from rheostat.snapshot import BatchUnderWay


def batches(**more):
    return Batches(fixed=1, per_task=0, trigger="10s", limit="none", **more)


def burst():
    """A record after 10 ms, which makes the first batch, and 98 more within a second, which make the second one."""
    return Step([(0, 99.5), (1, 0.0)])


FIRST_S = 1 / 99.5


def readings(it, *times_s):
    for time_s in times_s:
        it.cluster.advance(FIRST_S + time_s)
        yield it.observe().operators["op"].under_way


def test_a_batch_on_two_executors_is_followed_from_its_fixed_cost_to_its_end():
    it = plant(one_operator(), fixed(0.02, executors=2, queues="batches", batches=batches()), rate=burst(), scv=0)
    between, waiting, working, after = readings(it, 5.0, 10.5, 11.5, 12.5)
    assert between is None
    assert after is None
    assert waiting == BatchUnderWay(pytest.approx(0.5), 2, 0, 0, 0.0, 98)
    assert working == BatchUnderWay(pytest.approx(1.5), 2, 0, 2, pytest.approx(1.0), 98)
    assert working.likely_work_s == pytest.approx(1.0)


def test_an_executor_works_off_its_tasks_one_by_one():
    model = fixed(0.02, executors=1, queues="batches", batches=batches(tasks=4))
    it = plant(one_operator(), model, rate=burst(), scv=0)
    early, late = readings(it, 11.2, 12.6)  # 98 rows take 1.96 s, a task 0.49 s
    assert (early.tasks, early.finished, early.running) == (4, 0, 1)
    assert early.likely_work_s == pytest.approx(0.2 * 4)
    assert (late.finished, late.running, late.worked_s) == (3, 1, pytest.approx(1.6))


def test_an_executor_without_rows_has_no_task_at_work():
    model = fixed(0.02, executors=2, queues="batches", batches=batches())
    it = plant(keyed(2), model, rate=burst(), scv=0, weights=[1, 0])
    (working,) = readings(it, 11.5)
    assert working.worked_s == pytest.approx(0.5)
    assert working.running == 1
    assert working.finished + working.running <= working.tasks


def test_with_a_task_for_each_executor_none_waits_however_unequal_they_are():
    model = exponential(0.05, executors=5, queues="batches", batches=batches())
    it = plant(one_operator(), model, rate=burst(), scv=0)
    found = [each for each in readings(it, *(11.01 + 0.05 * step for step in range(60))) if each is not None]
    assert len({each.finished for each in found}) == 5
    assert all(each.finished + each.running == each.tasks == 5 for each in found)
