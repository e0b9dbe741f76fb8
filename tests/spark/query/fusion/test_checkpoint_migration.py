"""Chains whose queries are replaced: every number and position goes on."""

from pathlib import Path

import pytest

from rheostat.errors import PlantError
from rheostat.spark.query.fusion.checkpoint import stop_point_of
from rheostat.spark.query.fusion.checkpoint_migration import migrate_checkpoints
from rheostat.spark.query.fusion.query_changes import QueryChange
from rheostat.spark.streams.sink_log import SinkLog


class Run:
    """Checkpoints and streams of queries that have stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def checkpoint(self, query: str) -> Path:
        return self.folder / "checkpoints" / query

    def stream(self, writer: str) -> Path:
        return self.folder / "streams" / writer

    def query(self, name: str, batch: int, position: int) -> None:
        for number, until in ((batch - 1, position - 1), (batch, position)):
            self._write(self.checkpoint(name) / "offsets" / str(number), f"v1\n{{}}\n{until}")
        self._write(self.checkpoint(name) / "commits" / str(batch), f"v1\n{name}")
        self._write(self.checkpoint(name) / "state" / "0" / f"{batch + 1}", name)

    def published(self, name: str, newest: int) -> None:
        self._write(
            self.stream(name) / "_spark_metadata" / str(newest), 'v1\n{"path":"file:///x/part-0.parquet","size":1}'
        )

    def stops(self, *queries: str) -> list[tuple[int, int]]:
        return [(stop.batch, stop.position) for stop in (stop_point_of(self.checkpoint(name)) for name in queries)]

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_fused_query_reads_on_where_the_first_stopped_and_counts_on_where_the_last_did(run):
    run.query("b", batch=7, position=19)
    run.query("c", batch=4, position=7)
    migrate_checkpoints(QueryChange((("b",), ("c",)), (("b", "c"),)), run.checkpoint, run.stream)
    assert run.stops("b+c") == [(4, 19)]
    assert (run.checkpoint("b+c") / "state/0/5").read_text() == "c"
    assert (run.checkpoint("b+c") / "commits/4").read_text() == "v1\nc"


def test_split_queries_go_on_behind_the_streams_that_they_wrote_before(run):
    run.published("b", 7)
    run.query("b+c", batch=30, position=44)
    migrate_checkpoints(QueryChange((("b", "c"),), (("b",), ("c",))), run.checkpoint, run.stream)
    assert run.stops("b", "c") == [(7, 44), (30, 7)]
    assert (run.checkpoint("c") / "state/0/31").read_text() == "b+c"
    assert not (run.checkpoint("b") / "state").exists()


def test_a_stream_that_was_never_written_begins_behind_empty_batches_of_which_nothing_was_read(run):
    run.query("b+c", batch=30, position=44)
    for _ in range(2):
        migrate_checkpoints(QueryChange((("b", "c"),), (("b",), ("c",))), run.checkpoint, run.stream)
        assert run.stops("b", "c") == [(1, 44), (30, -1)]
    assert (SinkLog(run.stream("b")).newest(), SinkLog(run.stream("b")).files(1)) == (1, [])


def test_three_can_come_apart_and_meet_again_otherwise(run):
    run.published("a", 3)
    run.query("a+b", batch=8, position=50)
    run.query("c", batch=9, position=8)
    migrate_checkpoints(QueryChange((("a", "b"), ("c",)), (("a",), ("b", "c"))), run.checkpoint, run.stream)
    assert run.stops("a", "b+c") == [(3, 50), (9, 3)]


def test_a_query_that_stopped_within_a_batch_keeps_all_of_them_from_going_on(run):
    run.query("b", batch=7, position=19)
    run.query("c", batch=4, position=7)
    (run.checkpoint("c") / "commits/4").rename(run.checkpoint("c") / "commits/3")
    with pytest.raises(PlantError, match="in c stopped within batch 4"):
        migrate_checkpoints(QueryChange((("b",), ("c",)), (("b", "c"),)), run.checkpoint, run.stream)
    assert not run.checkpoint("b+c").exists()
