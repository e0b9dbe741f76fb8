"""Tasks whose times are made up of a fixed part and of so much a row."""

import pytest

from rheostat.spark.observe.status_store import ReadMetrics, TaskData, TaskMetrics
from rheostat.spark.observe.task_samples import BatchTasks
from rheostat.spark.observe.work_model import Works
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
    works = Works()
    for rows in (10, 20, 40, 80):
        works.of(batch(task("a", rows), task("b", 2 * rows)), None)
    assert works.of(batch(task("a", 30), task("a", 10), task("b", 100)), None) == pytest.approx({"a": 0.4, "b": 1.0})


def test_some_cold_tasks_do_not_move_the_line():
    works = Works()
    for rows in (10, 20, 40, 80, 160):
        works.of(batch(task("a", rows), task("b", rows + 5)), None)
    works.of(batch(task("cold", 50, run_s=9.0), task("cold", 10, run_s=6.0)), None)
    assert works.of(batch(task("a", 30)), None)["a"] == pytest.approx(0.3, rel=0.02)


def test_tasks_of_the_same_rows_are_all_work():
    works = Works()
    for _ in range(20):
        works.of(batch(task("a", 30)), None)
    assert works.of(batch(task("a", 30)), None) == pytest.approx({"a": 0.5})


def test_a_timed_function_tells_the_work_at_its_first_batch():
    sample = batch(task("a", 20), task("b", 40, number=1))
    assert Works().of(sample, timed((20, 0.2), (40, 0.4))) == pytest.approx({"a": 0.2, "b": 0.4})


def test_a_task_whose_records_cost_more_has_done_more():
    sample = batch(task("a", 20), task("b", 20, number=1), task("b", 20, number=2))
    assert Works().of(sample, timed((20, 0.1), (20, 0.3), (20, 0.5))) == pytest.approx({"a": 0.1, "b": 0.8})


def test_only_what_was_timed_since_the_last_batch_counts():
    works = Works()
    works.of(batch(task("a", 60)), timed((60, 6.0)))
    assert works.of(batch(task("a", 20)), timed((80, 6.2))) == pytest.approx({"a": 0.2})


def test_several_batches_between_two_samples_share_what_was_timed():
    assert Works().of(batch(task("a", 20)), timed((100, 2.0))) == pytest.approx({"a": 0.4})


def test_work_of_a_batch_with_more_tasks_is_not_lost_on_one_with_fewer():
    sample = batch(task("a", 20), task("b", 10, number=1))
    timings = timed((40, 0.4), (40, 0.4), (40, 0.4), (30, 0.3))
    assert Works().of(sample, timings) == pytest.approx({"a": 0.2, "b": 0.1})


def test_without_news_of_the_function_it_takes_as_long_as_before():
    works, timings = Works(), timed((60, 0.6))
    works.of(batch(task("a", 60)), timings)
    assert works.of(batch(task("a", 20)), timings) == pytest.approx({"a": 0.2})


def test_of_a_timed_function_only_the_longest_stage_is_work():
    shuffle, serve = (task("a", 60, run_s=0.1),), (task("b", 60),)
    assert Works().of(BatchTasks(0, (shuffle, serve)), timed((60, 0.6))) == pytest.approx({"b": 0.6})


def test_what_seems_to_cost_nothing_still_has_a_rate():
    assert Works().of(batch(task("a", 60, run_s=0.4)), timed((60, 0.0))) == pytest.approx({"a": 0.004})
