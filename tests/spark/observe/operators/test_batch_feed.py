from rheostat.spark.observe.operators.batch_feed import BatchFeed
from rheostat.spark.query.batch_log import BatchRecord


def record(batch: int, rows: int = 1) -> BatchRecord:
    return BatchRecord(batch, 0.0, 1.0, {"split": rows}, 0.8)


def numbers(batches: tuple[BatchRecord, ...]) -> list[int]:
    return [batch.batch for batch in batches]


def test_each_batch_comes_once(runtime):
    feed = BatchFeed(runtime, "count")
    runtime.records[:] = [record(0), record(1)]
    feed.update()
    assert numbers(feed.batches) == numbers(feed.own) == [0, 1]
    assert feed.newest == ("run of count", 1)
    feed.update()
    assert feed.batches == feed.own == ()
    assert feed.newest == ("run of count", 1)


def test_a_query_without_a_batch_has_no_newest_one(runtime):
    feed = BatchFeed(runtime, "count")
    feed.update()
    assert feed.is_running
    assert feed.newest is None


def test_the_last_batches_of_a_query_are_found_after_another_took_over(runtime):
    feed = BatchFeed(runtime, "count")
    runtime.records[:] = [record(7)]
    feed.update()
    runtime.records.append(record(8))
    runtime.arrange(("split", "count"))
    runtime.records[:] = [record(0), record(1)]
    feed.update()
    assert numbers(feed.batches) == [8, 0, 1]
    assert numbers(feed.own) == [8], "in the new query the operator is not the first"
    assert feed.query is None
    assert feed.newest is None


def test_without_a_query_there_is_nothing(runtime):
    runtime.queries = {}
    feed = BatchFeed(runtime, "count")
    feed.update()
    assert (feed.is_running, feed.is_alone, feed.reads_streams, feed.can_regroup) == (False, False, False, False)


def test_what_the_operator_shares_its_query_with_decides_what_can_be_done(runtime_of):
    def found(operator, *groups):
        feed = BatchFeed(runtime_of(*groups), operator)
        feed.update()
        return feed.is_alone, feed.reads_streams, feed.can_regroup

    assert found("split", ("split",), ("count",)) == (True, True, True)
    assert found("count", ("split",), ("count",)) == (True, True, False)
    assert found("split", ("split", "count")) == (False, True, False)
    assert found("split", ("lines", "split"), ("count",)) == (True, False, False)
    assert found("count", ("split", "count")) == (False, False, False)
