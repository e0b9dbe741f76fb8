from rheostat.spark.streams.batch_limit import Pace
from rheostat.spark.streams.stream import Arrival


def arrivals(*rows: int) -> tuple[Arrival, ...]:
    return tuple(Arrival(position, 0.0, each, 100, None) for position, each in enumerate(rows))


def after_a_batch_of(rows: int, took_s: float) -> Pace:
    pace = Pace(longest_s=10)
    pace.begin(rows, 100.0)
    pace.end(100.0 + took_s)
    return pace


def test_before_the_first_batch_nothing_is_held_back():
    assert Pace().at_once(arrivals(10, 10**9)) == arrivals(10, 10**9)


def test_a_batch_takes_what_lasts_so_long_at_the_pace_of_the_one_before():
    waiting = arrivals(20, 20, 20, 20)
    assert after_a_batch_of(10, took_s=2).at_once(waiting) == waiting[:2]
    assert after_a_batch_of(10, took_s=1).at_once(waiting) == waiting


def test_a_batch_that_took_long_may_be_followed_by_a_longer_one():
    waiting = arrivals(20, 20, 20, 20)
    assert after_a_batch_of(20, took_s=100).at_once(waiting) == waiting[:2]


def test_what_was_published_together_is_taken_together_however_much_it_is():
    assert after_a_batch_of(1, took_s=10).at_once(arrivals(500, 1)) == arrivals(500)


def test_batches_without_rows_are_taken_along():
    waiting = arrivals(5, 0, 0, 6, 0)
    assert after_a_batch_of(5, took_s=10).at_once(waiting) == waiting[:3]


def test_a_batch_without_rows_says_nothing_about_the_pace():
    pace = after_a_batch_of(1, took_s=10)
    pace.begin(0, 200.0)
    pace.end(201.0)
    assert pace.at_once(arrivals(1, 2)) == arrivals(1)
