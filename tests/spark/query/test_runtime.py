"""Whole topologies on a real cluster: results as a batch job computes them, whatever happens in between."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from drain import drain
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from rheostat.errors import ConfigError, PlantError, TopologyError
from rheostat.spark.query.failure import QueryError
from rheostat.spark.query.grouping.row_groupings import Evenly
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.query.run_directory import RunDirectory
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.query.user_functions import emits, final_rows
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import Operator, Source, Topology

pytestmark = pytest.mark.spark

SENTENCES = ["to be or not to be", "that is the question", "be that as it may"]
Start = Callable[..., Runtime]


class Inbox:
    """A folder of text files that is a source: each file becomes a batch of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []
        folder.mkdir()

    def add(self, *lines: str) -> None:
        draft = self.folder / f".{len(self.lines)}"
        draft.write_text("\n".join(lines) + "\n")
        draft.rename(self.folder / f"{len(self.lines):06d}.txt")
        self.lines += lines

    def read(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.folder))

    @property
    def words(self) -> Counter[str]:
        return Counter(word for line in self.lines for word in line.split())


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


@pytest.fixture
def start(spark: SparkSession, tmp_path: Path) -> Iterator[Start]:
    """Starts topologies in one run directory, and ends them whatever the test does."""
    running: list[Runtime] = []

    def begin(topology: Topology, **options: Any) -> Runtime:
        path, fused = options.pop("directory", tmp_path / "run"), options.pop("fused", ())
        runtime = Runtime(topology, spark, RunDirectory(path, topology, fused), **options)
        running.append(runtime)
        runtime.start()
        return runtime

    yield begin
    for runtime in running:
        with suppress(QueryError):
            runtime.stop()


def split(sentences: DataFrame) -> DataFrame:
    return sentences.select(sf.explode(sf.split("value", " ")).alias("word"))


@per_record("word string", sample_every=2)
def split_each(sentence: dict[str, Any]) -> Iterator[dict[str, str]]:
    for word in sentence["value"].split():
        yield {"word": word}


def count(words: DataFrame) -> DataFrame:
    return words.groupBy("word").count()


def shout(counts: DataFrame) -> DataFrame:
    return counts.select(sf.upper("word").alias("word"), "count")


def word_count(inbox: Inbox, split: Callable[..., Any] = split) -> Topology:
    """Three operators, the middle one with state."""
    return Topology(
        "word count",
        [
            Source("sentences", reader=inbox.read),
            Operator("split", split, inputs="sentences"),
            Operator("count", count, inputs="split", key="word", substreams=2),
            Operator("shout", shout, inputs="count"),
        ],
    )


def final_counts(runtime: Runtime) -> dict[str, int]:
    """The last update of each word. An update that was doubled or lost shows as a wrong number of updates."""
    updates = runtime.results("shout").collect()
    last: dict[str, tuple[int, int]] = {}
    for row in updates:
        last[row["word"]] = max(last.get(row["word"], (-1, 0)), (row["batch"], row["count"]))
    return {word: number for word, (_, number) in last.items()}


def shouted(words: Counter[str]) -> dict[str, int]:
    return {word.upper(): number for word, number in words.items()}


def forget_the_last_commit(run: Path) -> None:
    """As if the driver had died after each query had written its last batch, and before it was committed."""
    for commits in run.glob("checkpoints/*/commits"):
        last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
        for path in (commits / str(last), commits / f".{last}.crc"):
            path.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("split", "fused"),
    [(split, []), (split_each, []), (split, [("sentences", "split", "count", "shout")]), (split, [("count", "split")])],
    ids=["frames", "records", "one query", "fused pair"],
)
def test_counts_are_those_of_a_batch_job(inbox: Inbox, start: Start, split: Any, fused: Any) -> None:
    inbox.add(*SENTENCES)
    runtime = start(word_count(inbox, split), fused=fused)
    drain(runtime)
    inbox.add("be there")
    drain(runtime)
    runtime.stop()
    assert final_counts(runtime) == shouted(inbox.words)


def test_a_source_waits_between_its_batches_and_is_stopped_meanwhile(
    inbox: Inbox, start: Start, tmp_path: Path
) -> None:
    inbox.add(*SENTENCES)
    inbox.add("be there")  # a file is a batch
    first = start(word_count(inbox), source_interval_s=1e8)
    while not first.batches("shout"):
        assert not first.wait(0.02)
    commits = (tmp_path / "run" / "checkpoints" / "sentences" / "commits").iterdir()
    assert [path.name for path in commits if path.name.isdigit()] == ["0"]
    first.stop()
    second = start(word_count(inbox))
    drain(second)
    second.stop()
    assert final_counts(second) == shouted(inbox.words)


def test_started_again_it_goes_on_where_it_was(inbox: Inbox, start: Start, tmp_path: Path) -> None:
    inbox.add(*SENTENCES)
    first = start(word_count(inbox))
    drain(first)
    first.stop()
    forget_the_last_commit(tmp_path / "run")
    inbox.add("to go on")
    second = start(word_count(inbox))
    drain(second)
    second.stop()
    assert final_counts(second) == shouted(inbox.words)
    updates = [(row["word"], row["count"]) for row in second.results("shout").collect()]
    assert len(updates) == len(set(updates))


def test_state_without_a_key_is_complete_after_a_restart(inbox: Inbox, start: Start, tmp_path: Path) -> None:
    topology = Topology(
        "words seen",
        [
            Source("sentences", reader=inbox.read),
            Operator("once", lambda rows: split(rows).dropDuplicates(["word"]), inputs="sentences"),
            Operator("shout", lambda rows: rows.select(sf.upper("word").alias("word")), inputs="once"),
        ],
    )
    inbox.add(*SENTENCES)
    first = start(topology)
    drain(first)
    first.stop()
    forget_the_last_commit(tmp_path / "run")
    inbox.add(*SENTENCES, "to go on")
    second = start(topology)
    drain(second)
    second.stop()
    words = [row["word"] for row in second.results("shout").collect()]
    assert sorted(words) == sorted(shouted(inbox.words))


def test_every_batch_is_recorded_with_its_rows_and_latencies(inbox: Inbox, start: Start) -> None:
    entered_s = time.time() - 100

    @entered_at("entered")
    def read(spark: SparkSession) -> DataFrame:
        return inbox.read(spark).withColumn("entered", sf.timestamp_micros(sf.lit(int(entered_s * 1e6))))

    parts = [part for part in word_count(inbox).parts if isinstance(part, Operator)]
    runtime = start(Topology("word count", [Source("sentences", reader=read), *parts]))
    inbox.add(*SENTENCES)
    drain(runtime)
    for operator, stream, rows in [("split", "sentences", 3), ("count", "split", 15)]:
        (record,) = runtime.batches(operator)
        assert record.rows == {stream: rows}
        assert 0 < record.executing_s < record.duration_s
        assert record.latency is not None
        assert record.latency.count == rows
        assert record.latency.mean_s == pytest.approx(record.committed_s - entered_s, abs=1e-5)
        assert record.waited is not None
        assert 0 < record.waited.mean_s < record.latency.mean_s
        assert runtime.waiting(operator) == {stream: ()}
    assert runtime.batches("split", after=0) == ()


def test_fused_with_its_source_an_operator_still_has_latencies(inbox: Inbox, start: Start) -> None:
    inbox.add(*SENTENCES)
    runtime = start(word_count(inbox), fused=[("sentences", "split", "count", "shout")])
    drain(runtime)
    runtime.stop()
    (record,) = runtime.batches("split")
    assert record.rows == {"sentences": 3}
    assert record.latency is not None
    assert record.latency.count == 3
    assert record.committed_s - record.started_s - 0.01 < record.latency.mean_s < 60


def test_functions_on_records_are_timed_in_the_executors(inbox: Inbox, start: Start) -> None:
    inbox.add(*SENTENCES)
    runtime = start(word_count(inbox, split_each))
    drain(runtime)
    timings = runtime.timings("split")
    assert timings is not None
    assert timings.records == 3
    assert timings.busy_s > 0
    assert timings.sampled >= 2
    assert runtime.timings("count") is None


def test_consumed_stream_files_go_away(inbox: Inbox, start: Start, tmp_path: Path) -> None:
    runtime = start(word_count(inbox))
    for number in range(4):
        inbox.add(f"sentence {number}")
        drain(runtime)
    runtime.stop()
    for stream in ("sentences", "split", "count"):
        left = len(list((tmp_path / "run" / "streams" / stream / "_spark_metadata").glob("[0-9]*")))
        assert left <= 2, f"{left} of 4 batches are left in {stream}"
    assert final_counts(runtime) == shouted(inbox.words)


def by_length(words: DataFrame) -> dict[str, DataFrame]:
    return {
        "long": words.filter("length(word) > 2"),
        "short": words.filter("length(word) <= 2").withColumn("s", sf.lit(1)),
    }


def pair(long: DataFrame, short: DataFrame) -> DataFrame:
    return long.select("word", sf.lit("long").alias("kind")).union(short.select("word", sf.lit("short").alias("kind")))


@per_record({"long": "word string", "short": "word string, s int"})
def each_by_length(record: dict[str, Any]) -> Any:
    word = record["word"]
    return [("long", {"word": word}) if len(word) > 2 else ("short", (word, 1))]


@pytest.mark.parametrize("sort", [by_length, each_by_length], ids=["frames", "records"])
def test_records_split_into_outputs_meet_again(inbox: Inbox, start: Start, sort: Any) -> None:
    inbox.add(*SENTENCES)
    topology = Topology(
        "diamond",
        [
            Source("sentences", reader=inbox.read),
            Operator("split", split, inputs="sentences"),
            Operator("sort", sort, inputs="split", outputs=["long", "short"]),
            Operator("pair", pair, inputs=["sort.long", "sort.short"]),
        ],
    )
    runtime = start(topology)
    drain(runtime)
    found = Counter((row["word"], row["kind"]) for row in runtime.results("pair").collect())
    assert found == Counter({(w, "long" if len(w) > 2 else "short"): n for w, n in inbox.words.items()})


@pytest.mark.filterwarnings("ignore:no operator reads stream")
def test_an_output_that_nobody_reads_is_a_result_beside_those_that_are_read(inbox: Inbox, start: Start) -> None:
    inbox.add(*SENTENCES)
    topology = Topology(
        "half read",
        [
            Source("sentences", reader=inbox.read),
            Operator("split", split, inputs="sentences"),
            Operator("sort", by_length, inputs="split", outputs=["long", "short"]),
            Operator("count", count, inputs="sort.long", key="word", substreams=2),
        ],
    )
    runtime = start(topology)
    drain(runtime)
    short = Counter(row["word"] for row in runtime.results("sort.short").collect())
    assert short == Counter({word: n for word, n in inbox.words.items() if len(word) <= 2})
    longest = {row["word"]: row["count"] for row in runtime.results("count").collect()}
    assert longest == {word: n for word, n in inbox.words.items() if len(word) > 2}


def halve(numbers: DataFrame, again: DataFrame) -> dict[str, DataFrame]:
    """Halves numbers until they are odd."""
    both = numbers.select(sf.col("value").cast("long").alias("n")).union(again)
    even = sf.col("n") % 2 == 0
    return {"again": both.filter(even).select((sf.col("n") / 2).cast("long").alias("n")), "odd": both.filter(~even)}


@per_record({"again": "value string", "odd": "n long"})
def halve_each(record: dict[str, Any]) -> Any:
    n = int(record["value"])
    return [("again", (str(n // 2),)) if n % 2 == 0 else ("odd", (n,))]


@pytest.mark.filterwarnings("ignore:no operator reads stream")
def test_records_go_around_a_loop_until_they_are_done(inbox: Inbox, start: Start) -> None:
    inbox.add("8", "12", "7")
    looped = emits({"again": "n long", "odd": "n long"})(halve)
    operator = Operator("halve", looped, inputs=["numbers", "halve.again"], outputs={"again": 0.5, "odd": 0.5})
    runtime = start(Topology("loop", [Source("numbers", reader=inbox.read), operator]))
    drain(runtime)
    assert sorted(row["n"] for row in runtime.results("halve.odd").collect()) == [1, 3, 7]
    batches = runtime.batches("halve")
    assert sum(sum(batch.rows.values()) for batch in batches) == 3 + 2 + 2 + 1
    assert all(batch.latency is not None for batch in batches if sum(batch.rows.values()))


@final_rows
def count_in_windows(clicks: DataFrame) -> DataFrame:
    times = clicks.select(sf.timestamp_seconds(sf.col("value").cast("long")).alias("at"), sf.lit("x").alias("key"))
    windows = times.withWatermark("at", "5 seconds").groupBy(sf.window("at", "10 seconds"), "key").count()
    return windows.select(sf.unix_timestamp("window.start").alias("start"), "count")


def test_windows_are_given_once_when_they_are_final(inbox: Inbox, start: Start) -> None:
    keyed = Operator("count", count_in_windows, inputs="clicks", key="value", substreams=1)
    runtime = start(Topology("windows", [Source("clicks", reader=inbox.read), keyed]))
    inbox.add("1", "2", "9")
    drain(runtime)
    inbox.add("11", "30")
    drain(runtime)

    def found() -> list[tuple[int, int]]:
        return sorted((row["start"], row["count"]) for row in runtime.results("count").collect())

    deadline = time.monotonic() + 60
    while found() != [(0, 3), (10, 1)] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert found() == [(0, 3), (10, 1)]


def test_results_go_to_the_sink_that_is_given(inbox: Inbox, start: Start) -> None:
    inbox.add(*SENTENCES)
    received: dict[int, list[str]] = {}

    def collect(df: DataFrame, batch: int) -> None:
        received[batch] = [row["word"] for row in df.collect()]

    topology = Topology("words", [Source("sentences", reader=inbox.read), Operator("split", split, inputs="sentences")])
    runtime = start(topology, sinks={"split": collect})
    drain(runtime)
    assert Counter(received[0]) == inbox.words


def raises_on_question(sentence: dict[str, Any]) -> Any:
    if "question" in sentence["value"]:
        raise ValueError("whether 'tis nobler")
    return [{"word": word} for word in sentence["value"].split()]


def test_a_function_that_raises_is_named_with_its_line_and_nothing_is_lost(
    inbox: Inbox, start: Start, tmp_path: Path
) -> None:
    inbox.add(*SENTENCES)
    broken = start(word_count(inbox, per_record("word string")(raises_on_question)))
    told = r"operator 'split' failed: ValueError: whether 'tis nobler; .*test_runtime\.py, line \d+, in raises_on_"
    with pytest.raises(QueryError, match=told):
        drain(broken)
    assert broken.failure is not None
    assert broken.failure.query == "split"
    assert not any(query.is_active for query in broken.queries.values())
    mended = start(word_count(inbox, split_each))
    drain(mended)
    mended.stop()
    assert final_counts(mended) == shouted(inbox.words)


@pytest.mark.parametrize(("times", "goes_on"), [(3, True), (4, False)])
def test_a_query_whose_python_process_was_late_is_started_again_some_times(
    inbox: Inbox, start: Start, times: int, goes_on: bool
) -> None:
    inbox.add(*SENTENCES)
    received: dict[int, list[str]] = {}
    late = [RuntimeError("Python worker failed to connect back.") for _ in range(times)]

    def collect(df: DataFrame, batch: int) -> None:
        if late and received:
            raise late.pop()
        received[batch] = [row["word"] for row in df.collect()]

    topology = Topology("words", [Source("sentences", reader=inbox.read), Operator("split", split, inputs="sentences")])
    runtime = start(topology, sinks={"split": collect})
    drain(runtime)
    inbox.add("to go on")
    if not goes_on:
        with pytest.raises(QueryError, match=r"operator 'split' failed: .*Python worker failed to connect back"):
            drain(runtime)
        return
    drain(runtime)
    runtime.stop()
    assert sum(map(Counter, received.values()), Counter()) == inbox.words
    assert sum(batch.row_count for batch in runtime.batches("split")) == len(inbox.lines)


def test_a_truncated_stream_file_is_named_with_the_operator_and_nothing_is_skipped(
    inbox: Inbox, start: Start, tmp_path: Path
) -> None:
    inbox.add(*SENTENCES)
    runtime = start(word_count(inbox))
    drain(runtime)
    runtime.stop()
    forget_the_last_commit(tmp_path / "run")
    file = next((tmp_path / "run" / "streams" / "split").glob("*.parquet"))
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    damaged = start(word_count(inbox))
    with pytest.raises(QueryError, match=f"operator 'count' failed: .*{file.name} is damaged"):
        drain(damaged)
    file.write_bytes(whole)
    mended = start(word_count(inbox))
    drain(mended)
    mended.stop()
    assert final_counts(mended) == shouted(inbox.words)


def test_a_directory_in_use_is_refused_until_it_is_free(inbox: Inbox, start: Start) -> None:
    drain(start(word_count(inbox)))
    with pytest.raises(PlantError, match="another run is using"):
        start(word_count(inbox))


def topology_with(inbox: Inbox, **operator: Any) -> Topology:
    given = {"inputs": "sentences", "function": split, **operator}
    return Topology("words", [Source("sentences", reader=inbox.read), Operator("only", **given)])


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        ({"key": "word"}, "operator 'only' is keyed by 'word', which its input 'sentences' does not have: value"),
        (
            {"function": lambda df: df.select("vlaue")},
            "operator 'only': .*`vlaue` cannot be resolved.*its input is struct<value:string>",
        ),
        (
            {"function": lambda df: 1 / 0},
            r"operator 'only': ZeroDivisionError: division by zero; .*test_runtime\.py, line \d+",
        ),
        ({"function": lambda df: None}, "operator 'only' must return a streaming DataFrame for 'only', not None"),
        (
            {"function": lambda df: {"a": df}},
            r"operator 'only' declares the outputs none and its function returns \['a'\]",
        ),
        (
            {"outputs": ["a", "b"]},
            r"operator 'only' declares the outputs \['a', 'b'\] and its function returns a single one",
        ),
        ({"function": None}, "operator 'only' has no function"),
        ({"function": lambda df: df.select(sf.lit(None).alias("x"))}, "operator 'only': column 'x' has no type"),
        ({"function": lambda df: df.select("value", "value")}, "operator 'only' makes two columns called 'value'"),
        (
            {"function": lambda df: df.groupBy("value").count().groupBy("count").agg(sf.count("*").alias("n"))},
            "operator 'only': .*aggregation",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:no operator reads stream")
def test_an_operator_that_cannot_run_is_named_before_anything_runs(
    inbox: Inbox, start: Start, spark: SparkSession, operator: dict[str, Any], words: str
) -> None:
    with pytest.raises(TopologyError, match=f"(?s){words}"):
        start(topology_with(inbox, **operator))
    assert spark.streams.active == []


def test_a_source_that_is_no_stream_is_refused(start: Start) -> None:
    table = Source("table", reader=lambda spark: spark.range(3))
    with pytest.raises(TopologyError, match="source 'table' must open a streaming DataFrame"):
        start(Topology("words", [table, Operator("only", split, inputs="table")]))


def test_keyed_and_source_fused_operators_cannot_be_regrouped(inbox: Inbox, start: Start) -> None:
    runtime = start(word_count(inbox), fused=[("sentences", "split")])
    with pytest.raises(ConfigError, match="'count' is keyed: its 2 substreams"):
        runtime.regroup("count", Evenly(2))
    with pytest.raises(ConfigError, match="'split' is fused with its source"):
        runtime.regroup("split", Evenly(2))
    with pytest.raises(TopologyError, match="no operator 'cuont'; did you mean 'count'"):
        runtime.regroup("cuont", Evenly(2))


def test_an_unknown_sink_is_refused_with_the_known_results(inbox: Inbox, start: Start) -> None:
    with pytest.raises(TopologyError, match=r"a sink is given for 'count', which is no result; did you mean 'shout'"):
        start(word_count(inbox), sinks={"count": "somewhere"})
