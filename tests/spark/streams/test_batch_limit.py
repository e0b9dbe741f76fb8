from rheostat.spark.streams.batch_limit import BatchLimit
from rheostat.spark.streams.stream import Arrival


def arrivals(*rows: int) -> tuple[Arrival, ...]:
    return tuple(Arrival(position, 0.0, each, 100, None) for position, each in enumerate(rows))


def after_a_batch_of(rows: int, took_s: float) -> BatchLimit:
    limit = BatchLimit(longest_s=10)
    limit.batch_started(rows, 100.0)
    limit.batch_ended(100.0 + took_s)
    return limit


def test_before_the_first_batch_nothing_is_held_back():
    assert BatchLimit().admitted(arrivals(10, 10**9)) == arrivals(10, 10**9)


def test_a_batch_takes_what_lasts_so_long_at_the_pace_of_the_one_before():
    waiting = arrivals(20, 20, 20, 20)
    assert after_a_batch_of(10, took_s=2).admitted(waiting) == waiting[:2]
    assert after_a_batch_of(10, took_s=1).admitted(waiting) == waiting


def test_a_batch_that_took_long_may_be_followed_by_a_longer_one():
    waiting = arrivals(20, 20, 20, 20)
    assert after_a_batch_of(20, took_s=100).admitted(waiting) == waiting[:2]


def test_what_was_published_together_is_taken_together_however_much_it_is():
    assert after_a_batch_of(1, took_s=10).admitted(arrivals(500, 1)) == arrivals(500)


def test_batches_without_rows_are_taken_along():
    waiting = arrivals(5, 0, 0, 6, 0)
    assert after_a_batch_of(5, took_s=10).admitted(waiting) == waiting[:3]


def test_a_batch_without_rows_says_nothing_about_the_pace():
    limit = after_a_batch_of(1, took_s=10)
    limit.batch_started(0, 200.0)
    limit.batch_ended(201.0)
    assert limit.admitted(arrivals(1, 2)) == arrivals(1)


def test_batches_without_rows_do_not_keep_a_large_one_from_being_read():
    waiting = arrivals(0, 0, 500, 1)
    assert after_a_batch_of(1, took_s=10).admitted(waiting) == waiting[:3]
