import pytest

from rheostat.snapshot import BatchUnderWay


@pytest.mark.parametrize(
    ("tasks", "finished", "running", "worked_s", "likely_s"),
    [
        pytest.param(8, 0, 0, 0.0, 0.0, id="nothing has begun"),
        pytest.param(8, 0, 2, 6.0, 24.0, id="as long as the running ones so far"),
        pytest.param(8, 4, 2, 5.0, 8.0, id="as long as the finished ones, the running ones being half done"),
        pytest.param(8, 6, 2, 16.0, 16.0, id="nothing waits"),
        pytest.param(2, 2, 1, 6.0, 6.0, id="a task that is tried again"),
    ],
)
def test_work_of_a_batch_under_way_is_extended_to_the_tasks_that_wait(tasks, finished, running, worked_s, likely_s):
    assert BatchUnderWay(3.0, tasks, finished, running, worked_s).likely_work_s == pytest.approx(likely_s)
