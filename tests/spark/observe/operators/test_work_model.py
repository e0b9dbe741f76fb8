"""Tasks whose times are made up of a fixed part and of so much a row."""

import numpy as np
import pytest

from rheostat.spark.observe.operators.work_model import SampledWork, WorkModel
from rheostat.spark.observe.status_store import ReadMetrics, TaskData, TaskMetrics
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.query.per_record.timings import Timings

OVERHEAD_S, ROW_S = 0.2, 0.01


def task(executor: str, rows: int, run_s: float | None = None, *, number: int = 0) -> TaskData:
    took_s = OVERHEAD_S + ROW_S * rows if run_s is None else run_s
    metrics = TaskMetrics(round(1000 * took_s), ReadMetrics(records_read=rows))
    return TaskData(number, number, executor, "SUCCESS", 0, metrics)


def batch(*tasks: TaskData) -> BatchTasks:
    return BatchTasks(0, (tasks,))


def timed(*tasks: tuple[int, float]) -> Timings:
    """Records and seconds of each task."""
    timings = Timings()
    for number, (records, busy_s) in enumerate(tasks):
        timings.done(number, records, busy_s)
    return timings


def test_a_line_through_tasks_tells_work_from_what_every_task_costs():
    model = WorkModel()
    for rows in (10, 20, 40, 80):
        model.worked_s(batch(task("a", rows), task("b", 2 * rows)), None)
    worked_s = model.worked_s(batch(task("a", 30), task("a", 10), task("b", 100)), None)
    assert worked_s == pytest.approx({"a": 0.4, "b": 1.0})


def test_some_cold_tasks_do_not_move_the_line():
    model = WorkModel()
    for rows in (10, 20, 40, 80, 160):
        model.worked_s(batch(task("a", rows), task("b", rows + 5)), None)
    model.worked_s(batch(task("cold", 50, run_s=9.0), task("cold", 10, run_s=6.0)), None)
    assert model.worked_s(batch(task("a", 30)), None)["a"] == pytest.approx(0.3, rel=0.02)


def test_a_trickle_in_which_most_tasks_have_no_row_shows_what_a_task_costs_without_one():
    model = WorkModel()
    for number in range(4):
        model.worked_s(batch(*(task("a", int(each == number)) for each in range(4))), None)
    assert model.worked_s(batch(task("a", 1), task("a", 0)), None)["a"] == pytest.approx(ROW_S + 0.01 * OVERHEAD_S)


def test_rows_that_cost_ten_times_as_much_are_believed_at_once_and_again_when_they_do_not():
    model = WorkModel()
    for rows in (10, 20, 40, 80, 30, 50):
        model.worked_s(batch(task("a", rows), task("b", rows + 5)), None)
    dear = batch(task("a", 30, run_s=OVERHEAD_S + 10 * ROW_S * 30), task("b", 35, run_s=OVERHEAD_S + 10 * ROW_S * 35))
    for _ in range(8):
        assert model.worked_s(dear, None) == pytest.approx({"a": 3.0, "b": 3.5}, rel=0.01)
    assert model.worked_s(batch(task("a", 30), task("b", 35)), None) == pytest.approx({"a": 0.3, "b": 0.35}, rel=0.01)


def test_tasks_with_few_rows_that_differ_by_chance_work_as_long_as_larger_ones_for_each_row():
    model, rng = WorkModel(), np.random.default_rng(7)
    for _ in range(30):
        rows = rng.integers(5, 20, 4)
        run_s = OVERHEAD_S * rng.lognormal(0.0, 0.3, 4) + 0.0002 * rows
        model.worked_s(batch(*(task("a", int(n), float(s)) for n, s in zip(rows, run_s, strict=True))), None)
    for _ in range(20):
        rows, run_s = 12, OVERHEAD_S * rng.lognormal(0.0, 0.3, 4) + 0.0002 * 12
        worked_s = model.worked_s(batch(*(task("a", rows, float(each_s)) for each_s in run_s)), None)["a"]
        assert worked_s < 0.1 * run_s.sum()
    dear = model.worked_s(batch(*(task("a", 12, OVERHEAD_S + 0.1 * 12) for _ in range(4))), None)
    assert dear["a"] == pytest.approx(0.1 * 12 * 4, rel=0.1), "rows that cost far more are believed at once"


def test_where_rows_are_not_counted_all_is_work():
    model = WorkModel()
    for _ in range(10):
        assert model.worked_s(batch(task("a", 0, run_s=0.7)), None) == pytest.approx({"a": 0.7})


def test_tasks_of_the_same_rows_are_all_work():
    model = WorkModel()
    for _ in range(20):
        model.worked_s(batch(task("a", 30)), None)
    assert model.worked_s(batch(task("a", 30)), None) == pytest.approx({"a": 0.5})


def test_a_timed_function_tells_the_work_at_its_first_batch():
    sample = batch(task("a", 20), task("b", 40, number=1))
    assert WorkModel().worked_s(sample, timed((20, 0.2), (40, 0.4))) == pytest.approx({"a": 0.2, "b": 0.4})


def test_a_task_whose_records_cost_more_has_done_more():
    sample = batch(task("a", 20), task("b", 20, number=1), task("b", 20, number=2))
    assert WorkModel().worked_s(sample, timed((20, 0.1), (20, 0.3), (20, 0.5))) == pytest.approx({"a": 0.1, "b": 0.8})


def test_only_what_was_timed_since_the_last_batch_counts():
    model = WorkModel()
    model.worked_s(batch(task("a", 60)), timed((60, 6.0)))
    assert model.worked_s(batch(task("a", 20)), timed((80, 6.2))) == pytest.approx({"a": 0.2})


def test_several_batches_between_two_samples_share_what_was_timed():
    assert WorkModel().worked_s(batch(task("a", 20)), timed((100, 2.0))) == pytest.approx({"a": 0.4})


def test_work_of_a_batch_with_more_tasks_is_not_lost_on_one_with_fewer():
    sample = batch(task("a", 20), task("b", 10, number=1))
    timings = timed((40, 0.4), (40, 0.4), (40, 0.4), (30, 0.3))
    assert WorkModel().worked_s(sample, timings) == pytest.approx({"a": 0.2, "b": 0.1})


def test_without_news_of_the_function_it_takes_as_long_as_before():
    model, timings = WorkModel(), timed((60, 0.6))
    model.worked_s(batch(task("a", 60)), timings)
    assert model.worked_s(batch(task("a", 20)), timings) == pytest.approx({"a": 0.2})


def test_of_a_timed_function_only_the_longest_stage_is_work():
    shuffle, serve = (task("a", 60, run_s=0.1),), (task("b", 60),)
    assert WorkModel().worked_s(BatchTasks(0, (shuffle, serve)), timed((60, 0.6))) == pytest.approx({"b": 0.6})


def test_what_seems_to_cost_nothing_still_has_a_rate():
    assert WorkModel().worked_s(batch(task("a", 60, run_s=0.4)), timed((60, 0.0))) == pytest.approx({"a": 0.004})


def test_a_larger_batch_is_work_for_a_larger_share_of_the_time_it_holds_slots():
    sample = SampledWork(batch(), 40, {"a": 0.25, "b": 0.5}, {"a": 1.0, "b": 0.5})
    assert sample.expected("a", 40) == pytest.approx((0.25, 1.0))
    assert sample.expected("a", 160) == pytest.approx((1.0, 1.75))
    assert sample.expected("a", 80) == pytest.approx((0.5, 1.25))


def test_an_executor_that_is_not_in_the_sample_is_expected_to_work_as_all_others():
    sample = SampledWork(batch(), 40, {"a": 0.25, "b": 0.5}, {"a": 1.0, "b": 0.5})
    assert sample.expected("newcomer", 80) == pytest.approx((1.5, 2.25))


def test_a_sample_holds_the_work_and_the_slots_of_its_tasks():
    sample = WorkModel().sampled(batch(task("a", 30)), 30, timed((30, 0.3)))
    assert (sample.rows, sample.worked_s, sample.held_s) == (30, pytest.approx({"a": 0.3}), {"a": 0.5})
    assert (sample.ratio(60), SampledWork(batch(), 0, {}, {}).ratio(60)) == (2.0, 1.0)
