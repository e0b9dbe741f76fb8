"""What a micro-batch costs beside its work, for all policies that ask."""

import pytest

from rheostat.policies.batch_cost import BatchCosts
from rheostat.snapshot import Batch, ExecutorPhase, ExecutorState


def told(count, cost_s):
    """Counters of a plant that tells what its batches cost."""
    return Batch(count, 9.9 * count, cost_s * count)


def executor(number, busy_s):
    return ExecutorState("count", number, ExecutorPhase.ACTIVE, busy_s=busy_s)


def test_the_cost_of_a_batch_is_fitted_over_the_executors_it_ran_on():
    costs = BatchCosts()
    paid_s, count = 0.0, 0
    for executors in (2, 4, 8):
        for _ in range(3):
            costs.update(Batch(count, 9.9, paid_s), executors)
            count, paid_s = count + 5, paid_s + 5 * (0.15 + 0.02 * executors)
    assert costs.fitted() == (pytest.approx(0.15), pytest.approx(0.02), 0.0)
    assert costs.at(5) == pytest.approx(0.25)


def test_at_one_number_of_executors_a_further_one_is_taken_to_cost_nothing():
    costs = BatchCosts()
    for count in (0, 5, 10):
        costs.update(told(count, 0.2), 4)
    assert costs.fitted() == (pytest.approx(0.2), 0.0, 0.0)
    assert costs.at(9) == pytest.approx(0.2)


def with_overhead(*paid, tasks=200):
    """What is learned from batches on (executors, cost, overhead) each."""
    costs, count, cost_s, overhead_s = BatchCosts(), 0, 0.0, 0.0
    for executors, each_s, overhead_each_s in paid:
        for _ in range(3):
            costs.update(Batch(count, 9.9, cost_s, tasks * count, overhead_s), executors)
            count, cost_s, overhead_s = count + 5, cost_s + 5 * each_s, overhead_s + 5 * overhead_each_s
    return costs


def test_what_many_tasks_cost_is_taken_to_be_shared_by_further_executors():
    costs = with_overhead((1, 6.5, 6.0))
    assert [costs.at(size) for size in (1, 2, 6)] == pytest.approx([6.5, 3.5, 1.5])


def test_a_task_or_three_for_each_executor_will_be_more_on_more_of_them():
    assert with_overhead((2, 0.6, 0.2), tasks=6).at(4) == pytest.approx(0.6)
    assert with_overhead((2, 0.6, 0.2), tasks=7).at(4) == pytest.approx(0.55)


def test_overhead_that_is_shared_is_found_from_several_sizes():
    costs = with_overhead((1, 6.5, 6.0), (2, 3.5, 6.0), (4, 2.0, 6.0))
    assert costs.fitted() == (pytest.approx(0.5), 0.0, pytest.approx(6.0))


def test_executors_that_share_cores_are_seen_not_to_share_the_overhead():
    """On two cores six executors have the tasks of two, and each takes three times as long."""
    costs = with_overhead((2, 3.5, 6.0), (4, 3.5, 12.0), (6, 3.5, 18.0))
    assert costs.at(8) == pytest.approx(3.5)
    rising = with_overhead((2, 3.5, 6.0), (6, 3.9, 18.0))
    assert rising.fitted() == (pytest.approx(3.3), pytest.approx(0.1), 0.0)


def test_where_the_plant_does_not_tell_the_cost_it_is_the_duration_less_the_work_of_the_busiest_executor():
    costs = BatchCosts()
    for n in range(3):
        costs.update(Batch(10 * n, 5.0 * n), 2, [executor(0, 3.0 * n), executor(1, 1.0 * n)])
    assert costs.at(2) == pytest.approx(0.2)


def test_work_is_counted_from_the_moment_at_which_batches_ended():
    """A look between two batches sees executors at work, but no batch that has ended."""
    costs = BatchCosts()
    costs.update(Batch(10, 5.0), 1, [executor(0, 3.0)])
    costs.update(Batch(10, 5.0), 1, [executor(0, 4.0)])
    costs.update(Batch(20, 10.0), 1, [executor(0, 6.0)])
    assert costs.at(1) == pytest.approx(0.2)


def test_too_few_batches_unknown_work_or_a_change_of_executors_say_nothing():
    costs = BatchCosts()
    costs.update(told(0, 0.2), 4)
    costs.update(told(2, 0.2), 4)
    assert costs.fitted() is None
    costs.update(Batch(9, 9.0), 4)
    assert costs.fitted() is None
    costs.update(told(90, 0.2), 5)
    assert costs.fitted() is None


def test_counters_that_begin_anew_are_not_taken_for_a_gain():
    costs = BatchCosts()
    for count in (50, 0, 5, 10):
        costs.update(told(count, 0.2), 4)
    assert costs.at(4) == pytest.approx(0.2)


def test_costs_that_drift_are_followed():
    costs = BatchCosts()
    paid_s = 0.0
    for count in range(0, 4000, 50):
        costs.update(Batch(count, 9.9, paid_s), 4)
        paid_s += 50 * (0.1 if count < 2000 else 0.3)
    assert costs.at(4) == pytest.approx(0.3, rel=0.01)


def test_without_batches_there_is_no_cost():
    costs = BatchCosts()
    costs.update(None, 4)
    assert costs.fitted() is None
    assert costs.at(4) is None


def learned_from(*costs_s):
    """One batch in each turn, on one executor."""
    costs, paid_s = BatchCosts(), 0.0
    for count, cost_s in enumerate((0.0, *costs_s)):
        paid_s += cost_s
        costs.update(Batch(count, 9.9, paid_s), 1)
    return costs.at(1)


def test_a_first_batch_that_was_cold_does_not_show_what_batches_cost():
    assert learned_from(13.0, 0.5, 0.7) == pytest.approx(0.6)
    assert learned_from(13.0, 0.5, 0.7, 0.6) == pytest.approx(0.6)


def test_batches_that_all_take_long_do():
    assert learned_from(13.0, 8.0, 9.0) == pytest.approx(10.0)
    assert learned_from(0.5, 0.7, 1.2) == pytest.approx(0.8)


def test_costs_that_have_risen_count_once_older_ones_have_half_the_weight():
    assert learned_from(*[0.5] * 30, *[5.0] * 60) == pytest.approx(5.0, rel=0.15)
