"""File statistics of files as Spark's file sink writes them, made by pyarrow."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rheostat.errors import PlantError
from rheostat.spark.streams.entry_times import ENTRY, ENTRY_ARROW, EntryTimes
from rheostat.spark.streams.file_statistics import FileStatistics, file_statistics
from rheostat.spark.streams.named_outputs import OUTPUT
from rheostat.spark.streams.sink_log import PublishedFile


@pytest.fixture
def write(tmp_path: Path):
    """A file of rows that entered at the given seconds (None: not known), in the given outputs."""

    def write(entered_s: list[float | None] | None, outputs: list[str] | None = None, *, rows: int = 3, tells=True):
        count = rows if entered_s is None else len(entered_s)
        columns: dict[str, pa.Array] = {"n": pa.array(range(count))}
        if entered_s is not None:
            times = [None if each is None else Decimal(round(each * 1e6)) for each in entered_s]
            columns[ENTRY] = pa.array(times, ENTRY_ARROW)
        if outputs is not None:
            columns[OUTPUT] = pa.array(outputs)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        told = [ENTRY] if tells and entered_s is not None else False
        pq.write_table(pa.table(columns), path, write_statistics=told, store_decimal_as_integer=True)
        return PublishedFile(path, path.stat().st_size)

    return write


def test_rows_of_one_moment_are_told_by_the_footer_alone(write, monkeypatch) -> None:
    files = [write([5.0] * 4), write([5.0] * 3)]
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_, **__: pytest.fail("the rows were read"))
    assert file_statistics(files, None) == FileStatistics(7, EntryTimes(7, 7, 5.0, 0.0, (5.0,)))


@pytest.mark.parametrize("tells", [True, False])
def test_rows_of_several_moments_are_read(write, tells) -> None:
    rows, entry = file_statistics([write([1.0, 2.0, 6.0], tells=tells)], None)
    assert (rows, entry.known, entry.mean_s, entry.variance_s2) == (3, 3, pytest.approx(3.0), pytest.approx(14 / 3))


def test_rows_without_a_time_are_not_said_to_have_one(write) -> None:
    assert file_statistics([write([5.0, None, 5.0])], None) == FileStatistics(3, EntryTimes(3, 2, 5.0, 0.0, (5.0,)))


def test_files_without_entry_times_have_rows_only(write) -> None:
    assert file_statistics([write(None), write(None, rows=2)], None) == FileStatistics(5, None)
    assert file_statistics([], None) == FileStatistics(0, None)


def test_a_file_without_rows_has_no_moment(write) -> None:
    assert file_statistics([write([])], None) == FileStatistics(0, EntryTimes.unknown(0))
    assert file_statistics([write([]), write([4.0])], None) == FileStatistics(1, EntryTimes.at(4.0, 1))


def test_of_several_outputs_only_one_is_counted(write) -> None:
    assert file_statistics([write([5.0, 7.0, 5.0], ["a", "b", "a"])], "a") == FileStatistics(2, EntryTimes.at(5.0, 2))
    assert file_statistics([write(None, ["a", "b", "a"])], "b") == FileStatistics(1, None)


def test_a_damaged_file_is_named(write) -> None:
    file = write([1.0, 2.0])
    file.path.write_bytes(file.path.read_bytes()[:40])
    with pytest.raises(
        PlantError, match=rf"the stream file {file.path} is damaged .*published with {file.bytes} bytes"
    ):
        file_statistics([file], None)
