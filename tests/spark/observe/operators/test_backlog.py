from rheostat.snapshot import OperatorState, Snapshot, StreamState
from rheostat.spark.observe.operators.backlog import Backlog, StreamCounter
from rheostat.spark.query.batch_log import BatchRecord
from rheostat.spark.streams.stream import Arrival


def record(start_s: float, rows: int) -> BatchRecord:
    return BatchRecord(0, start_s, start_s + 1.0, {"split": rows}, 0.8)


def arrival(published_s: float, rows: int) -> Arrival:
    return Arrival(0, published_s, rows, 10 * rows, None)


def counts(backlog: Backlog) -> tuple[int | None, int, int | None]:
    return backlog.arrived, backlog.completed, backlog.queued


def counted(backlog: Backlog, stream: str) -> tuple[int, int | None]:
    counter = backlog.stream(stream)
    assert counter is not None
    return counter.rows, counter.known_bytes


def test_what_was_there_when_the_last_batch_began_is_in_that_batch():
    backlog = Backlog("count")
    backlog.add(record(10.0, 60))
    backlog.update({"split": (arrival(9.0, 60), arrival(10.5, 40))})
    assert counts(backlog) == (100, 60, 40)
    assert backlog.oldest_s(12.0) == 1.5
    assert counted(backlog, "split") == (100, 1000)


def test_rows_of_a_batch_that_no_record_has_yet_are_still_queued():
    backlog = Backlog("count")
    backlog.update({"split": (arrival(9.0, 60),)})
    backlog.update({"split": ()})
    assert counts(backlog) == (60, 0, 60)
    assert backlog.oldest_s(12.0) == 0.0
    backlog.add(record(10.0, 60))
    backlog.update({"split": ()})
    assert counts(backlog) == (60, 60, 0)


def test_one_unknown_stream_makes_the_backlog_unknown_and_the_counters_continue():
    backlog = Backlog("count")
    backlog.update({"split": (arrival(9.0, 60),), "other": ()})
    backlog.update({"split": (arrival(9.0, 60),), "other": None})
    assert (backlog.is_known, backlog.arrived, backlog.queued, backlog.oldest_s(12.0)) == (False, None, None, None)
    assert backlog.stream("split") is None
    backlog.update({"split": (arrival(9.0, 60),), "other": (arrival(9.5, 5),)})
    assert counts(backlog) == (65, 0, 65)
    assert (counted(backlog, "split"), counted(backlog, "other")) == ((60, 600), (5, 50))


def test_an_operator_without_streams_of_its_own_has_no_backlog():
    backlog = Backlog("count")
    backlog.update(None)
    assert not backlog.is_known


def test_the_batch_under_way_has_what_waited_at_the_last_commit():
    backlog = Backlog("count")
    assert backlog.rows_under_way() == 0
    backlog.add(record(10.0, 40))
    backlog.update({"split": (arrival(10.5, 100), arrival(10.9, 60), arrival(11.5, 500))})
    assert backlog.rows_under_way() == 160


def test_if_nothing_waited_at_the_last_commit_a_batch_takes_what_comes_next():
    backlog = Backlog("count")
    backlog.add(record(10.0, 40))
    backlog.update({"split": (arrival(11.2, 0), arrival(11.5, 80), arrival(11.9, 500))})
    assert backlog.rows_under_way() == 80
    backlog.update({"split": ()})
    assert backlog.rows_under_way() == 0


def test_counters_continue_after_a_restart():
    state = OperatorState("count", arrived=500, completed=450)
    base = Snapshot(1.0, (state,), streams=(StreamState("split", "count", rows=500, bytes=5000),))
    backlog = Backlog("count", base)
    backlog.update({"split": (arrival(9.0, 50),)})
    assert counts(backlog) == (500, 450, 50)
    assert counted(backlog, "split") == (500, 5000)


def test_what_was_committed_after_the_last_snapshot_is_not_queued_for_ever():
    state = OperatorState("count", arrived=500, completed=450)
    base = Snapshot(1.0, (state,), streams=(StreamState("split", "count", rows=500),))
    backlog = Backlog("count", base)
    backlog.update({"split": (arrival(9.0, 20),)})
    assert counts(backlog) == (500, 480, 20)
    backlog.update({"split": (arrival(9.0, 20), arrival(9.5, 40))})
    assert counts(backlog) == (540, 480, 60)
    assert counted(backlog, "split")[0] == 540, "all rows of the only stream"


def test_bytes_grow_with_rows_at_the_size_of_those_that_wait():
    stream = StreamCounter()
    assert stream.known_bytes is None
    stream.update(10, 1000)
    stream.read = 20
    stream.update(0, 0)
    assert (stream.rows, stream.known_bytes) == (20, 2000)
    stream.update(1, 7)
    assert (stream.rows, stream.known_bytes) == (21, 2007)


def test_rows_of_a_stream_never_fall():
    stream = StreamCounter()
    stream.update(21, 2100)
    stream.update(5, 500)
    assert (stream.rows, stream.known_bytes) == (21, 2100)


def test_the_newest_row_of_a_stream_is_one_that_waits_or_one_that_was_read():
    first, second, third = (Arrival(number, 9.0 + number, 50, 500, None) for number in range(3))
    backlog = Backlog("count")
    backlog.update({"split": (first, second)})
    assert backlog.stream("split").until_s == 10.0
    backlog.update({"split": (third,)})
    assert backlog.stream("split").until_s == 11.0, "nothing is known to be missing"
    backlog.add(BatchRecord(0, 10.5, 12.0, {"split": 100}, 0.8, newest={"split": second}))
    backlog.update({"split": (third,)})
    assert (backlog.stream("split").rows, backlog.stream("split").until_s) == (150, 11.0)
    backlog.update({"split": (Arrival(4, 14.0, 50, 500, None),)})
    assert backlog.stream("split").until_s == 11.0, "what came before the fourth is neither read nor waiting"
    backlog.add(BatchRecord(1, 12.0, 15.0, {"split": 50}, 0.8, newest={"split": third}))
    backlog.update({"split": (Arrival(3, 13.0, 50, 500, None),)})
    assert (backlog.stream("split").rows, backlog.stream("split").until_s) == (200, 13.0)
