"""Sink log: the files of each batch, as Spark's file sink records them."""

import json
from pathlib import Path

import pytest

from rheostat.errors import PlantError
from rheostat.spark.streams.python_source import NOTHING_YET
from rheostat.spark.streams.sink_log import SinkLog


def publish_by_hand(folder: Path, number: int, files: int = 2) -> list[Path]:
    """As Spark's sink does it."""
    paths = [folder / f"part-{number}-{index}.parquet" for index in range(files)]
    for path in paths:
        path.write_bytes(b"x" * 10)
    log = folder / "_spark_metadata"
    log.mkdir(exist_ok=True)
    entries = [json.dumps({"path": path.as_uri(), "size": 10}) for path in paths]
    (log / str(number)).write_text("\n".join(["v1", *entries]))
    return paths


def test_the_log_is_read_as_the_sink_writes_it(tmp_path: Path) -> None:
    folder = tmp_path / "a stream, with ünusual name"
    folder.mkdir()
    log = SinkLog(folder)
    assert log.newest() == NOTHING_YET
    paths = publish_by_hand(folder, 0)
    publish_by_hand(folder, 1)
    assert log.newest() == 1
    assert [file.path for file in log.files(0)] == paths
    assert [file.bytes for file in log.files(0)] == [10, 10]


def test_the_newest_entry_is_the_last_there_is_also_when_another_thread_asks_meanwhile(tmp_path: Path) -> None:
    publish_by_hand(tmp_path, 0)
    log = Interrupted(tmp_path)
    publish_by_hand(tmp_path, 1)
    publish_by_hand(tmp_path, 2)
    assert [log.newest(), log.newest()] == [2, 2]


class Interrupted(SinkLog):
    """Somebody else asks for the newest entry just when it has been found that there is one more."""

    _is_asking = False

    def _entry(self, number: int) -> Path:
        if not self._is_asking:
            self._is_asking = True
            self.newest()
            self._is_asking = False
        return super()._entry(number)


def test_removed_entries_take_their_files_along_and_the_newest_stays(tmp_path: Path) -> None:
    for number in range(4):
        publish_by_hand(tmp_path, number)
    log = SinkLog(tmp_path)
    log.remove(1)
    assert log.first == 2
    assert sorted(path.name for path in tmp_path.glob("*.parquet")) == [
        f"part-{number}-{index}.parquet" for number in (2, 3) for index in (0, 1)
    ]
    log.remove(99)
    assert log.first == log.newest() == 3
    assert SinkLog(tmp_path).first == 3


def test_removed_entries_take_their_checksums_along(tmp_path: Path) -> None:
    published = [path for number in range(2) for path in publish_by_hand(tmp_path, number)]
    for path in (*published, tmp_path / "_spark_metadata" / "0"):
        path.with_name(f".{path.name}.crc").touch()
    SinkLog(tmp_path).remove(0)
    assert sorted(path.name for path in tmp_path.rglob("*.crc")) == [f".{path.name}.crc" for path in published[2:]]


def test_files_of_a_batch_that_was_never_published_are_removed(tmp_path: Path) -> None:
    kept = publish_by_hand(tmp_path, 0)
    (tmp_path / "part-left-behind.parquet").write_bytes(b"half")
    SinkLog(tmp_path).remove_unpublished()
    assert sorted(tmp_path.glob("*.parquet")) == sorted(kept)


def test_an_entry_that_is_gone_is_an_error_that_says_where(tmp_path: Path) -> None:
    for number in range(3):
        publish_by_hand(tmp_path, number)
    log = SinkLog(tmp_path)
    log.remove(1)
    with pytest.raises(PlantError, match=r"batch 0 of the stream in .* is gone, the first that is left is 2"):
        log.files(0)
