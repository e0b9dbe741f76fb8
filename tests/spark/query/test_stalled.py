"""Stalled queries, told from their batches and streams without a session."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rheostat.spark.query.batch_log import BatchLog, WrittenBatch
from rheostat.spark.query.stalled import stalled_parts
from rheostat.spark.streams.stream import Arrival

NOW_S = 1000.0


def query(folder: Path, waiting: tuple[Arrival, ...] | None, *, parts: tuple[str, ...] = ("count",)) -> Any:
    for log in ("offsets", "commits"):
        (folder / log).mkdir(parents=True, exist_ok=True)
    readers = {} if waiting is None else {"split": SimpleNamespace(waiting=lambda: waiting)}
    return _Query(SimpleNamespace(parts=parts), BatchLog(folder), readers)


class _Query:
    def __init__(self, unit: Any, batches: BatchLog, readers: Any) -> None:
        self.unit, self.batches, self.readers = unit, batches, readers


def arrival(rows: int, age_s: float) -> Arrival:
    return Arrival(0, NOW_S - age_s, rows, 100, None)


def commit(it: Any, folder: Path, rows: int) -> None:
    it.batches.written(WrittenBatch(0, 1.0, 2.0, {"split": (arrival(rows, 50),)}))
    (folder / "offsets" / "0").touch()
    (folder / "commits" / "0").touch()


def test_rows_that_have_waited_for_a_query_without_a_batch_are_counted(tmp_path: Path) -> None:
    it = query(tmp_path, (arrival(7, 60), arrival(5, 1)), parts=("split", "count"))
    assert stalled_parts([it], NOW_S) == {"split": 12, "count": 12}


def test_an_operator_without_input_or_with_input_of_the_last_moment_is_not_stalled(tmp_path: Path) -> None:
    for waiting in ((), (arrival(0, 60),), (arrival(5, 1),)):
        assert stalled_parts([query(tmp_path, waiting)], NOW_S) == {}


def test_a_committed_batch_with_rows_is_enough_and_one_without_is_not(tmp_path: Path) -> None:
    for rows, stalled in ((3, {}), (0, {"count": 9})):
        it = query(tmp_path, (arrival(9, 60),))
        commit(it, tmp_path, rows)
        assert stalled_parts([it], NOW_S) == stalled


def test_a_source_is_stalled_if_its_first_batch_was_planned_and_not_committed(tmp_path: Path) -> None:
    it = query(tmp_path, None, parts=("in",))
    assert stalled_parts([it], NOW_S) == {}
    (tmp_path / "offsets" / "0").touch()
    (tmp_path / "offsets" / ".0.crc").touch()
    assert stalled_parts([it], NOW_S) == {"in": None}
