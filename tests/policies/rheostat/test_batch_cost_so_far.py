"""What a record costs at least by the batch under way: a jump is believed, chance and uneven tasks are not."""

import pytest

from rheostat.policies.rheostat.batch_cost_so_far import BatchCostSoFar
from rheostat.policies.rheostat.operator_cost import OperatorCost
from rheostat.snapshot import Batch, BatchUnderWay, OperatorState


def cost_at(batch, *, rate=None, is_keyed=False):
    so_far = BatchCostSoFar()
    so_far.update(10.0, batch, rate, is_keyed=is_keyed)
    return so_far


def test_a_jump_of_the_cost_is_believed_before_the_batch_has_finished():
    so_far = cost_at(BatchUnderWay(elapsed_s=3.0, tasks=8, finished=1, running=3, worked_s=12.0, rows=240))
    assert so_far.at_least_s(0.002) == pytest.approx(12.0 * 2 / 240)
    assert so_far.at_least_s(None) == pytest.approx(0.1)


def test_what_is_no_more_than_learned_or_could_be_chance_changes_nothing():
    so_far = cost_at(BatchUnderWay(elapsed_s=1.0, tasks=2, finished=0, running=2, worked_s=0.3, rows=12))
    assert so_far.at_least_s(0.02) == 0.02
    assert cost_at(None).at_least_s(0.02) == 0.02
    assert cost_at(BatchUnderWay(0.2, 4, 0, 0, 0.0, 100)).at_least_s(0.02) == 0.02


def test_a_few_cheap_records_in_tasks_that_take_a_moment_longer_are_no_jump():
    so_far = cost_at(
        BatchUnderWay(elapsed_s=0.5, tasks=4, finished=3, running=1, worked_s=0.3, rows=150), is_keyed=True
    )
    assert so_far.at_least_s(0.0005) == 0.0005


def test_tasks_that_cost_much_beside_their_work_may_take_longer_without_a_jump():
    so_far = BatchCostSoFar()
    so_far.update(10.0, BatchUnderWay(1.0, 4, 3, 1, worked_s=1.0, rows=100), None, 0.15, is_keyed=True)
    assert so_far.at_least_s(0.0005) == 0.0005
    so_far.update(12.0, BatchUnderWay(3.0, 4, 3, 1, worked_s=3.0, rows=100), None, 0.15, is_keyed=True)
    assert so_far.at_least_s(0.0005) == pytest.approx(0.03)


def test_long_tasks_of_a_keyed_operator_say_nothing_of_those_that_wait():
    batch = BatchUnderWay(elapsed_s=3.0, tasks=8, finished=0, running=2, worked_s=6.0, rows=300)
    assert cost_at(batch, is_keyed=True).at_least_s(0.018) == 0.018
    assert cost_at(batch).at_least_s(0.018) == pytest.approx(6.0 * 4 / 300)


def test_rows_that_are_not_known_are_those_that_arrived_while_the_batch_before_ran():
    so_far = BatchCostSoFar()
    so_far.update(9.0, BatchUnderWay(1.0, 2, 0, 2, 1.0), 50.0, is_keyed=False)
    assert so_far.at_least_s(0.01) == 0.01, "the batch before it was not seen"
    so_far.update(15.0, BatchUnderWay(2.0, 2, 0, 2, 25.0), 50.0, is_keyed=False)
    assert so_far.at_least_s(0.01) == pytest.approx(25.0 / (50 * 5))


def test_rows_that_are_not_known_may_have_come_all_at_once():
    so_far = BatchCostSoFar()
    so_far.update(9.0, BatchUnderWay(1.0, 2, 0, 2, 1.0), 50.0, queued=50, is_keyed=False)
    # The second batch begins half a second after the first, with what the operator before sent in two seconds.
    so_far.update(9.5, BatchUnderWay(1.0, 2, 0, 2, 2.0), 50.0, queued=150, is_keyed=False)
    assert so_far.at_least_s(0.02) == 0.02
    so_far.update(14.5, BatchUnderWay(6.0, 2, 0, 2, 12.0), 50.0, queued=400, is_keyed=False)
    assert so_far.at_least_s(0.02) == pytest.approx(12.0 / 100)


def test_a_jump_is_believed_until_it_was_learned_or_a_later_batch_says_otherwise():
    so_far = cost_at(BatchUnderWay(elapsed_s=3.0, tasks=8, finished=1, running=3, worked_s=12.0, rows=240))
    so_far.update(12.0, BatchUnderWay(0.1, 8, 0, 4, worked_s=0.4, rows=240), None, is_keyed=False)
    assert so_far.at_least_s(0.002) == pytest.approx(0.1), "the next batch has only begun"
    so_far.update(13.0, None, None, is_keyed=False)
    assert so_far.at_least_s(0.002) == pytest.approx(0.1)
    so_far.update(14.0, BatchUnderWay(1.9, 8, 6, 2, worked_s=6.0, rows=240), None, is_keyed=False)
    assert so_far.at_least_s(0.002) == pytest.approx(6.0 / 240)
    so_far.forget()
    assert so_far.at_least_s(0.002) == 0.002


def test_records_of_a_batch_that_hangs_get_ever_older():
    cost = OperatorCost()
    ages_s = []
    for time_s in (10.0, 20.0, 40.0):
        under_way = BatchUnderWay(elapsed_s=time_s - 5, tasks=4, finished=3, running=1, worked_s=1.0, rows=100)
        state = OperatorState("any", oldest_s=time_s - 3, batch=Batch(3, 6.0, 1.5, 12), under_way=under_way)
        cost.update(time_s, state, (), 2)
        ages_s.append(cost.projected_s(state))
    assert ages_s == sorted(ages_s)
    assert ages_s[-1] > 35
