import pytest

from rheostat.snapshot import Batch, OperatorState
from rheostat.spark.observe.operators.batch_costs import BatchCostCounter
from rheostat.spark.observe.operators.work_model import SampledWork
from rheostat.spark.observe.status_store import TaskData
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.query.batch_log import BatchRecord

TASKS = BatchTasks(0, ((TaskData(), TaskData()),))
SAMPLE = SampledWork(TASKS, 40, {"7": 0.25, "8": 0.5}, {"7": 0.4, "8": 0.6})
SLOTS = {"7": 1, "8": 2}


def record(duration_s: float, rows: int) -> BatchRecord:
    return BatchRecord(0, 10.0, 10.0 + duration_s, {"split": rows}, 0.8)


def test_batches_are_charged_as_much_for_a_row_as_the_sampled_one():
    costs = BatchCostCounter(OperatorState("count"))
    costs.add(record(1.0, 40))
    costs.add(record(2.0, 120))
    costs.charge(160, SAMPLE, SLOTS)
    assert costs.busy_s == pytest.approx(4 * (0.25 + 0.5 / 2))
    assert costs.batch == Batch(
        2, 3.0, pytest.approx((1.0 - 0.25) + (2.0 - 0.75)), 4, pytest.approx(2 * (0.15 + 0.1 / 2))
    )


def test_costs_are_unknown_until_a_batch_was_sampled_and_then_include_all_before():
    costs = BatchCostCounter(OperatorState("count"))
    costs.add(record(1.0, 40))
    assert (costs.busy_s, costs.batch) == (None, Batch(1, 1.0, None, None))
    costs.add(record(1.0, 40))
    costs.charge(80, SAMPLE, SLOTS)
    assert costs.batch == Batch(2, 2.0, pytest.approx(1.5), 4, pytest.approx(0.4))


def test_without_new_batches_nothing_is_charged():
    costs = BatchCostCounter(OperatorState("count"))
    costs.add(record(1.0, 40))
    costs.charge(40, SAMPLE, SLOTS)
    before = costs.busy_s, costs.batch
    costs.charge(0, SAMPLE, SLOTS)
    assert (costs.busy_s, costs.batch) == before


def test_a_batch_that_works_longer_than_it_lasts_has_no_fixed_cost():
    costs = BatchCostCounter(OperatorState("count"))
    costs.add(record(0.1, 400))
    costs.charge(400, SAMPLE, SLOTS)
    assert costs.batch.fixed_s == 0.0


def test_counters_continue_after_a_restart():
    costs = BatchCostCounter(OperatorState("count", busy_s=30.0, batch=Batch(9, 20.0, 5.0, 18, 3.0)))
    costs.add(record(1.0, 40))
    costs.charge(40, SAMPLE, SLOTS)
    assert costs.busy_s == pytest.approx(30.5)
    assert costs.batch == Batch(10, 21.0, pytest.approx(5.75), 20, pytest.approx(3.2))


def test_a_cold_batch_costs_what_warm_ones_do():
    costs = BatchCostCounter(OperatorState("count"))
    costs.add(record(9.0, 40), is_evidence=False)
    costs.add(record(1.0, 40))
    costs.charge(80, SAMPLE, SLOTS)
    assert costs.busy_s == pytest.approx(2 * (0.25 + 0.5 / 2))
    assert costs.batch == Batch(2, 10.0, pytest.approx(2 * (1.0 - 0.25)), 4, pytest.approx(0.4))


def test_costs_are_unknown_again_until_batches_are_charged():
    costs = BatchCostCounter(OperatorState("count"))
    costs.add(record(1.0, 40))
    costs.charge(40, SAMPLE, SLOTS)
    costs.suspend()
    costs.add(record(8.0, 40), is_evidence=False)
    assert (costs.busy_s, costs.batch) == (None, Batch(2, 9.0, None, None))
    costs.charge(40, SAMPLE, SLOTS)
    assert costs.batch == Batch(2, 9.0, pytest.approx(1.5), 4, pytest.approx(0.4))


def test_a_cold_batch_never_costs_more_than_it_took():
    costs = BatchCostCounter(OperatorState("count"))
    costs.add(record(0.2, 40), is_evidence=False)
    costs.add(record(10.25, 40))
    costs.charge(80, SAMPLE, SLOTS)
    assert costs.batch == Batch(2, pytest.approx(10.45), pytest.approx(0.2 + 10.0), 4, pytest.approx(0.4))
