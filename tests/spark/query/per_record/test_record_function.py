"""Functions on single records, as they run in an executor's Python."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from rheostat.errors import ConfigError
from rheostat.spark.query.per_record.record_function import RecordFunction, per_record
from rheostat.spark.query.per_record.record_stage import record_worker
from rheostat.spark.query.per_record.timings import Timings
from rheostat.spark.streams.entry_times import ENTRY
from rheostat.spark.streams.named_outputs import OUTPUT

WORD = StructType().add("word", "string")
WORD_AND_LENGTH = StructType().add("word", "string").add("length", "long")
WORD_AND_N = StructType().add("word", "string").add("n", "long")


class FakeStopwatch:
    def __init__(self) -> None:
        self.timings = Timings()

    def add(self, timings: Timings) -> None:
        self.timings.add(timings)


def sentences(*texts: str, entry_us: Iterable[int] = ()) -> pa.RecordBatch:
    columns: dict[str, Any] = {"text": pa.array(texts)}
    stamps = [Decimal(stamp) for stamp in entry_us]
    if stamps:
        columns[ENTRY] = pa.array(stamps, pa.decimal128(18, 0))
    return pa.RecordBatch.from_pydict(columns)


def run(function: RecordFunction, *batches: pa.RecordBatch) -> tuple[list[dict[str, Any]], Timings]:
    stopwatch = FakeStopwatch()
    worker = record_worker("split", function, stopwatch)
    made = [row for batch in worker.run(iter(batches)) for row in batch.to_pylist()]
    return made, stopwatch.timings


@per_record(WORD_AND_LENGTH, sample_every=2, cost="text")
def split(sentence: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for word in sentence["text"].split():
        yield {"word": word, "length": len(word)}


def test_each_record_makes_any_number_of_records() -> None:
    made, _ = run(split, sentences("to be", ""), sentences("or"))
    assert made == [{"word": "to", "length": 2}, {"word": "be", "length": 2}, {"word": "or", "length": 2}]


def test_made_records_have_the_entry_time_of_their_origin() -> None:
    made, _ = run(split, sentences("a b", "", "c", entry_us=[1, 2, 3]))
    assert [(row["word"], int(row[ENTRY])) for row in made] == [("a", 1), ("b", 1), ("c", 3)]


def test_tuples_are_records_in_the_order_of_the_schema() -> None:
    @per_record(WORD_AND_LENGTH)
    def first(sentence: dict[str, Any]) -> Any:
        return [(sentence["text"], 1)]

    assert run(first, sentences("x"))[0] == [{"word": "x", "length": 1}]


def test_none_is_nothing() -> None:
    @per_record(WORD)
    def nothing(sentence: dict[str, Any]) -> None:
        return None

    assert run(nothing, sentences("x", "y"))[0] == []


def test_every_record_is_counted_and_every_nth_timed_with_its_value() -> None:
    _, timings = run(split, sentences("a", "b", "c"), sentences("d", "e"))
    assert timings.records == 5
    assert timings.busy_s > 0
    assert [(task, value) for task, value, _ in timings.samples] == [(0, "a"), (0, "c"), (0, "e")]
    assert timings.sampled == 3
    assert timings.sampled_s == pytest.approx(sum(seconds for _, _, seconds in timings.samples))
    assert timings.sampled_s2 == pytest.approx(sum(seconds**2 for _, _, seconds in timings.samples))
    assert timings.sampled_s <= timings.busy_s


def test_the_samples_kept_are_bounded_and_all_are_counted() -> None:
    total = Timings()
    for _ in range(3):
        part = Timings()
        for index in range(700):
            part.sample(0, index, 0.5)
        total.add(part)
    assert total.sampled == 2100
    assert len(total.samples) == 1000
    assert total.samples[-1] == (0, 699, 0.5)


def test_named_outputs_are_marked_with_their_streams() -> None:
    @per_record({"long": WORD, "short": WORD_AND_N})
    def sort(sentence: dict[str, Any]) -> Iterator[Any]:
        for word in sentence["text"].split():
            yield ("long", {"word": word}) if len(word) > 2 else ("short", (word, len(word)))

    made, _ = run(sort, sentences("long it"))
    assert made == [
        {OUTPUT: "split.long", "split.long": {"word": "long"}, "split.short": None},
        {OUTPUT: "split.short", "split.long": None, "split.short": {"word": "it", "n": 2}},
    ]


def test_a_record_without_a_declared_column_is_named() -> None:
    @per_record(WORD_AND_LENGTH)
    def forgetful(sentence: dict[str, Any]) -> Any:
        return [{"word": "x"}]

    with pytest.raises(ValueError, match="operator 'split' yielded a record without column 'length'"):
        run(forgetful, sentences("x"))


def test_a_value_of_another_type_is_named_with_its_column() -> None:
    @per_record(WORD_AND_LENGTH)
    def wrong(sentence: dict[str, Any]) -> Any:
        return [{"word": "x", "length": "many"}]

    with pytest.raises(ValueError, match=r"operator 'split': column 'length' is no int64.*many"):
        run(wrong, sentences("x"))


def test_an_unknown_output_is_named_with_the_known_ones() -> None:
    @per_record({"long": WORD})
    def wrong(sentence: dict[str, Any]) -> Any:
        return [("lang", {"word": "x"})]

    with pytest.raises(ValueError, match=r"with an output of \['long'\], not \('lang'"):
        run(wrong, sentences("x"))


def test_what_was_done_before_an_error_is_counted() -> None:
    @per_record(WORD)
    def fails(sentence: dict[str, Any]) -> Any:
        raise ValueError(sentence["text"])

    stopwatch = FakeStopwatch()
    with pytest.raises(ValueError, match="second"):
        list(record_worker("split", fails, stopwatch).run(iter([sentences("second")])))
    assert stopwatch.timings.records == 0


@pytest.mark.parametrize("every", [0, -1, True, 1.5])
def test_a_sample_rate_that_is_no_count_is_refused_with_its_value(every: Any) -> None:
    with pytest.raises(ConfigError, match=f"sample_every is {every!r}"):
        per_record(WORD, sample_every=every)
