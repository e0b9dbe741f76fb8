"""Where a query stopped, and the checkpoint of another that goes on from there."""

from pathlib import Path

import pytest

from rheostat.errors import PlantError
from rheostat.spark.query.fusion.checkpoint import has_enough_batches, has_state, stop_point_of, write_checkpoint

SETTINGS = '{"batchWatermarkMs":7,"conf":{"spark.sql.shuffle.partitions":"4"}}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":9}'


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def checkpoint(folder: Path, positions: list[str], commits: int | None = None) -> Path:
    """One batch for each of `positions`, as Spark leaves it."""
    for batch, position in enumerate(positions):
        write(folder / "offsets" / str(batch), f"v1\n{SETTINGS}\n{position}")
    for batch in range(len(positions) if commits is None else commits):
        write(folder / "commits" / str(batch), COMMIT)
    return folder


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_query_stopped_behind_its_last_batch_and_where_that_one_read_up_to(tmp_path):
    stop = stop_point_of(checkpoint(tmp_path / "split", ["3", "5", "9"]))
    assert (stop.batch, stop.position, stop.settings, stop.commit) == (2, 9, SETTINGS, COMMIT)


def test_a_query_that_has_read_nothing_since_it_was_split_stopped_before_the_first_position(tmp_path):
    assert stop_point_of(checkpoint(tmp_path / "count", ["-", "-"])).position == -1


@pytest.mark.parametrize(
    ("positions", "commits", "words"),
    [
        ([], 0, "in count has had fewer than 2 batches"),
        (["4"], 1, "in count has had fewer than 2 batches"),
        (["4", "5", "6"], 2, "in count stopped within batch 2"),
        (["4", '{"logOffset":2}'], 2, "one whole number"),
        (["4", "5\n6"], 2, "positions"),
    ],
)
def test_where_nobody_can_go_on_is_refused_with_the_reason(tmp_path, positions, commits, words):
    with pytest.raises(PlantError, match=words):
        stop_point_of(checkpoint(tmp_path / "count", positions, commits))


def test_two_batches_are_enough_to_go_on_from(tmp_path):
    assert not has_enough_batches(tmp_path)
    assert not has_enough_batches(checkpoint(tmp_path, ["1", "2"], commits=1))
    assert has_enough_batches(checkpoint(tmp_path, ["1", "2"]))


def test_a_query_has_state_as_soon_as_there_is_a_file_of_it(tmp_path):
    folder = checkpoint(tmp_path, ["1", "2"])
    (folder / "state" / "0").mkdir(parents=True)
    assert not has_state(folder)
    write(folder / "state" / "0" / "0" / "1.changelog", "")
    assert has_state(folder)


def test_another_query_goes_on_with_the_number_the_settings_and_the_state_but_its_own_identity(tmp_path):
    old, new = checkpoint(tmp_path / "count", ["3", "5", "9"]), tmp_path / "split+count"
    write(old / "state" / "0" / "1" / "3.changelog", "words")
    write(old / "metadata", '{"id":"old"}')
    write(new / "offsets" / "99", "left behind")
    write_checkpoint(new, stop_point_of(old), 2, 41, keep_state=True)
    written = content(new)
    assert '"old"' not in written.pop("metadata")
    assert written == {
        "offsets/1": f"v1\n{SETTINGS}\n40",
        "offsets/2": f"v1\n{SETTINGS}\n41",
        "commits/2": COMMIT,
        "state/0/1/3.changelog": "words",
    }


def test_the_state_is_the_same_files_and_outlives_the_old_checkpoint(tmp_path):
    old, new = checkpoint(tmp_path / "count", ["3", "5"]), tmp_path / "new"
    write(old / "state" / "0" / "0" / "2.zip", "all")
    write_checkpoint(new, stop_point_of(old), 1, 5, keep_state=True)
    assert (new / "state/0/0/2.zip").samefile(old / "state/0/0/2.zip")
    (old / "state/0/0/2.zip").unlink()
    assert (new / "state/0/0/2.zip").read_text() == "all"


def test_where_files_cannot_be_linked_they_are_copied(tmp_path, monkeypatch):
    old, new = checkpoint(tmp_path / "count", ["3", "5"]), tmp_path / "new"
    write(old / "state" / "0" / "0" / "2.zip", "all")
    monkeypatch.setattr("os.link", _refuse)
    write_checkpoint(new, stop_point_of(old), 1, 5, keep_state=True)
    assert (new / "state/0/0/2.zip").read_text() == "all"


@pytest.mark.parametrize(("position", "lines"), [(0, ["-", "0"]), (-1, ["-", "-"])])
def test_before_the_first_position_there_is_nothing(tmp_path, position, lines):
    write_checkpoint(
        tmp_path / "b", stop_point_of(checkpoint(tmp_path / "a", ["3", "5"])), 1, position, keep_state=False
    )
    written = [(tmp_path / "b" / "offsets" / str(batch)).read_text().splitlines()[-1] for batch in (0, 1)]
    assert (written, (tmp_path / "b" / "state").exists()) == (lines, False)


def _refuse(*_: object) -> None:
    raise PermissionError("no links here")
