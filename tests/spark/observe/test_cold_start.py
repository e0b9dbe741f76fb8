import pytest

from rheostat.spark.observe.cold_start import COLD_BATCHES, LONGEST_COLD_S, ColdStart
from rheostat.spark.query.batch_log import BatchRecord


def batch(rows: int = 5, duration_s: float = 2.0) -> BatchRecord:
    return BatchRecord(0, 10.0, 10.0 + duration_s, {"words": rows}, duration_s)


def warm(*executors: str) -> ColdStart:
    """One whose first batches are over, with executors that took part in them."""
    cold = ColdStart()
    cold.work(executors, 1.0)
    for _ in range(COLD_BATCHES):
        cold.add(batch())
    assert not cold.is_cold
    return cold


def test_the_first_batches_with_rows_are_no_evidence():
    cold = ColdStart()
    assert [cold.add(batch()) for _ in range(4)] == [False, False, False, True]
    assert not cold.is_cold


def test_batches_without_rows_neither_are_evidence_nor_make_warm():
    cold = ColdStart()
    assert not any(cold.add(batch(rows=0, duration_s=0.1)) for _ in range(10))
    assert cold.is_cold


def test_a_first_batch_that_takes_long_is_evidence_even_before_it_ends():
    cold = ColdStart()
    for _ in range(3):
        cold.work({"1"}, LONGEST_COLD_S / 4)
        assert cold.is_cold
    cold.work({"1"}, LONGEST_COLD_S / 4)
    assert not cold.is_cold
    assert cold.add(batch(1_000_000, 60.0))


def test_a_long_first_batch_is_evidence_where_no_executor_is_seen():
    cold = ColdStart()
    assert cold.add(batch(1_000_000, 60.0))
    assert not cold.is_cold


def test_where_tasks_are_looked_at_those_of_the_next_batch_are_awaited():
    cold = ColdStart(by_samples=True)
    assert [cold.add(batch()) for _ in range(4)] == [False, False, False, True]
    assert cold.is_cold
    cold.sampled()
    assert not cold.is_cold


def test_tasks_are_not_awaited_for_ever():
    cold = ColdStart(by_samples=True)
    for _ in range(int(LONGEST_COLD_S)):
        cold.work({"1"}, 1.0)
    assert not cold.is_cold


def test_time_without_work_does_not_end_a_cold_start():
    cold = ColdStart()
    cold.add(batch())
    cold.work((), 600.0)
    assert cold.is_cold


def test_an_executor_that_joins_others_makes_one_batch_cold():
    cold = warm("1", "2")
    cold.work({"1", "3"}, 1.0)
    assert [cold.add(batch()), cold.add(batch())] == [False, True]
    cold.work({"2", "3"}, 1.0)
    assert not cold.is_cold, "these are known"


def test_a_pool_whose_executors_are_all_new_starts_again():
    cold = warm("1", "2")
    cold.work({"8"}, 1.0)
    assert [cold.add(batch()) for _ in range(4)] == [False, False, False, True]


def test_another_query_starts_again():
    cold = warm("1")
    cold.restart()
    assert [cold.add(batch()) for _ in range(4)] == [False, False, False, True]


@pytest.mark.parametrize("executors", [{"1", "2"}, {"2"}])
def test_with_no_cold_batches_nothing_is_cold(executors):
    cold = ColdStart(batches=0)
    assert cold.add(batch())
    cold.work({"1"}, 1.0)
    cold.work(executors, 1.0)
    assert not cold.is_cold


def test_the_problem_says_how_many_batches_are_left():
    cold = ColdStart()
    assert cold.problem("count", is_work_unknown=False) == (
        "operator 'count' is warming up: its next 3 batches are no evidence of what its work costs"
    )
    cold.add(batch())
    cold.add(batch())
    assert cold.problem("count", is_work_unknown=False) == (
        "operator 'count' is warming up: its next batch is no evidence of what its work costs"
    )
    cold.add(batch())
    assert cold.problem("count", is_work_unknown=False) is None
    assert cold.problem("count", is_work_unknown=True) == (
        "the work of operator 'count' is unknown: its executors were cold"
    )


def test_work_on_the_batch_under_way_counts_with_that_on_the_batches_before():
    cold = ColdStart()
    assert cold.is_cold_after(LONGEST_COLD_S - 1)
    assert not cold.is_cold_after(LONGEST_COLD_S)
    cold.add(batch(800, LONGEST_COLD_S - 6))
    assert cold.is_cold_after(5.0)
    assert not cold.is_cold_after(6.0)
    assert cold.are_batches_cold, "a batch that begins now may still be cold"
