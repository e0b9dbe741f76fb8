from rheostat.spark.observe.operators.batch_under_way import rows_under_way
from rheostat.spark.streams.stream import Arrival


def arrivals(*published: tuple[float, int]) -> list[Arrival]:
    return [Arrival(0, published_s, rows, 0, None) for published_s, rows in published]


def test_a_batch_takes_what_waits_when_the_one_before_is_committed():
    assert rows_under_way(arrivals((10.5, 100), (10.9, 60), (11.5, 500)), last_commit_s=11.0) == 160


def test_if_nothing_waited_a_batch_takes_what_comes_next():
    assert rows_under_way(arrivals((11.5, 80), (11.9, 500)), last_commit_s=11.0) == 80


def test_arrivals_without_rows_start_no_batch():
    assert rows_under_way(arrivals((11.2, 0), (11.5, 80), (11.9, 500)), last_commit_s=11.0) == 80


def test_if_nothing_waits_there_is_no_batch():
    assert rows_under_way([], last_commit_s=11.0) == 0
