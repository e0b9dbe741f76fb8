"""Operators that are fused and split while rows flow: results as a batch job computes them, whatever happens."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from drain import drain
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.errors import PlantError
from rheostat.spark.query.failure import QueryError
from rheostat.spark.query.fusion.checkpoint_migration import migrate_checkpoints
from rheostat.spark.query.fusion.query_changes import changes_between
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.topology import Operator, Source, Topology

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

LINES = ["to be or not to be", "that is the question", "be that as it may"]
PAIR = [("split", "count")]


class Inbox:
    """A folder of text files; each becomes a batch of its own, so that rows flow for a while."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.words: Counter[str] = Counter()
        self._files = 0
        folder.mkdir()

    def add(self, files: int) -> None:
        for number in range(self._files, self._files + files):
            line = LINES[number % len(LINES)]
            draft = self.folder / f".{number}"
            draft.write_text(line + "\n")
            draft.rename(self.folder / f"{number:06d}.txt")
            self.words.update(line.split())
        self._files += files

    def read(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.folder))


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


Start = Callable[..., Runtime]


@pytest.fixture
def start(spark: SparkSession, inbox: Inbox, tmp_path: Path) -> Iterator[Start]:
    """Starts the topology in one run directory, and ends it whatever the test does."""
    running: list[Runtime] = []

    def begin(*last: Operator, **options: object) -> Runtime:
        it = topology(inbox, *last)
        runtime = Runtime(it, spark, RunDirectory(tmp_path / "run", it, options.pop("fused", ())), **options)
        running.append(runtime)
        runtime.start()
        return runtime

    yield begin
    for runtime in running:
        with suppress(QueryError):
            runtime.stop()


@per_record("word string")
def split(sentence: dict[str, str]) -> Iterator[dict[str, str]]:
    for word in sentence["value"].split():
        yield {"word": word}


SHOUT = Operator("shout", lambda counts: counts.select(sf.upper("word").alias("word"), "count"), inputs="count")


def topology(inbox: Inbox, *last: Operator) -> Topology:
    """Words are split and counted; what becomes of the counts is left to `last`."""
    return Topology(
        "word count",
        [
            Source("lines", reader=inbox.read),
            Operator("split", split, inputs="lines"),
            Operator("count", lambda words: words.groupBy("word").count(), inputs="split", key="word", substreams=2),
            *last,
        ],
    )


def counts(runtime: Runtime) -> dict[str, int]:
    """The last number of each word; a row that was lost or doubled makes it a wrong one."""
    drain(runtime)
    last: dict[str, int] = {}
    for row in runtime.results(*runtime.topology.terminals).collect():
        word = row["word"].lower()
        last[word] = max(last.get(word, 0), row["count"])
    return last


def begin(runtime: Runtime, inbox: Inbox) -> None:
    """Give every query the two batches that others need to go on from."""
    for _ in range(2):
        inbox.add(1)
        drain(runtime)


@pytest.mark.slow
def test_counts_stay_exact_while_operators_are_fused_and_split_and_somebody_dies_in_between(
    inbox, start, tmp_path, monkeypatch
):
    runtime = start(SHOUT)
    with pytest.raises(PlantError, match="'split' has had fewer than 2 batches"):
        runtime.rearrange(PAIR)
    begin(runtime, inbox)
    for groups in (PAIR, [], PAIR):
        inbox.add(6)
        runtime.rearrange(groups)
        assert runtime.groups.now == tuple(groups)
    inbox.add(6)
    with monkeypatch.context() as patched:
        patched.setattr(runtime.directory, "record_queries", _dies)
        with pytest.raises(OSError, match="no space"):
            runtime.rearrange([])
    assert runtime.groups.now == tuple(PAIR)
    assert counts(runtime) == inbox.words
    runtime.stop()
    assert (tmp_path / "run/checkpoints/split").exists(), "complete, but never the one that counts"
    inbox.add(3)
    runtime = start(SHOUT)
    assert runtime.groups.now == tuple(PAIR)
    assert sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir()) == ["lines", "shout", "split+count"]
    assert counts(runtime) == inbox.words


def test_what_was_fused_from_the_start_can_be_split_and_a_driver_that_dies_behind_the_change_finds_it_done(
    inbox, start, tmp_path
):
    runtime = start(fused=PAIR)
    begin(runtime, inbox)
    inbox.add(6)
    runtime.rearrange([])
    assert counts(runtime) == inbox.words
    runtime.stop()
    _fuse_at_rest(tmp_path / "run", runtime.topology)
    inbox.add(3)
    runtime = start(fused=PAIR)
    assert runtime.groups.now == tuple(PAIR)
    assert counts(runtime) == inbox.words


def test_what_is_no_chain_is_refused_and_everything_runs_on(inbox, start):
    runtime = start(SHOUT)
    with pytest.raises(PlantError, match="'count' is keyed: only the last operator of a chain may be"):
        runtime.rearrange([("count", "shout")])
    with pytest.raises(PlantError, match="'lines' is a source"):
        runtime.rearrange([("lines", "split")])
    inbox.add(1)
    assert counts(runtime) == inbox.words


def test_an_operator_that_remembers_something_without_a_key_is_left_as_it_is(inbox, start):
    once = Operator("once", lambda counts: counts.dropDuplicates(["word"]), inputs="count")
    loud = Operator(
        "loud", lambda words: words.select(sf.upper("word").alias("word"), sf.lit(1).alias("count")), inputs="once"
    )
    runtime = start(once, loud)
    begin(runtime, inbox)
    inbox.add(1)
    drain(runtime)
    with pytest.raises(PlantError, match="'once' keeps state between batches but has no key"):
        runtime.rearrange([("once", "loud")])
    assert counts(runtime) == dict.fromkeys(inbox.words, 1)


def _dies(_: object) -> None:
    raise OSError("no space left on device")


def _fuse_at_rest(folder: Path, topology: Topology) -> None:
    """All that a driver does up to the moment from which on the change is made, and nothing behind it."""
    queries = [("lines",), ("split",), ("count",)]
    directory = RunDirectory(folder, topology, queries)
    then = [("lines",), *PAIR]
    (change,) = changes_between(topology, queries, then)
    migrate_checkpoints(change, directory.checkpoint, directory.stream)
    directory.record_queries(then)
    directory.release()
