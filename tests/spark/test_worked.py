import pytest

from rheostat.spark.metering.worked import Worked


def test_what_is_under_way_counts_by_the_share_of_work():
    worked = Worked(5.0)
    worked.read("1", 100.0, 0.5)
    assert worked.total_s == 5.0
    worked.read("1", 104.0, 0.5)
    assert worked.total_s == 7.0


def test_the_end_of_a_batch_puts_right_what_its_growth_hid():
    worked = Worked()
    worked.read("1", 0.0, 0.2)
    worked.read("1", 10.0, 0.2)
    assert worked.total_s == 2.0
    worked.settle("1", 9.0, held_s=10.0)
    worked.read("1", 11.0, 0.9)
    assert worked.total_s == pytest.approx(9.9)


def test_what_was_put_too_high_is_waited_for_and_no_more():
    worked = Worked()
    seen = []
    for batch in range(5):
        worked.read("1", 10.0 * batch, 1.0)
        worked.read("1", 10.0 * batch + 10.0, 1.0)
        worked.settle("1", 4.0, held_s=10.0 * batch + 10.0)
        seen.append(worked.total_s)
    assert seen == [10.0, 14.0, 18.0, 22.0, 26.0]


def test_tasks_of_the_next_batch_that_have_ended_already_are_settled_with_theirs():
    worked = Worked()
    worked.read("1", 0.0, 0.5)
    worked.settle("1", 4.0, held_s=12.0)
    worked.settle("1", 6.0, held_s=20.0)
    assert worked.total_s == 10.0


def test_it_goes_on_with_another_process_and_leaves_out_its_past():
    worked = Worked(5.0)
    worked.read("1", 100.0, 1.0)
    worked.read("1", 103.0, 1.0)
    worked.read("2", 50.0, 1.0)
    assert worked.total_s == 8.0
    worked.read("2", 51.0, 1.0)
    assert worked.total_s == 9.0
    worked.settle("3", 2.0, held_s=70.0)
    worked.read("3", 70.0, 1.0)
    assert worked.total_s == 11.0


def test_a_clock_that_is_a_moment_behind_takes_nothing_back():
    worked = Worked()
    worked.read("1", 50.0, 1.0)
    worked.read("1", 51.0, 1.0)
    worked.read("1", 49.0, 1.0)
    assert worked.total_s == 1.0
