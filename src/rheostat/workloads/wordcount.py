"""Word count: sentences are split into words, and words are counted. The cost of a sentence is emulated by sleeping."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from rheostat.load import Sine
from rheostat.load.skew import zipf
from rheostat.spark.query.per_record.record_function import per_record
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.intake import checked, json_records

SCHEMA = "entered timestamp, text string"


def word_count(
    folder: Path, *, cost_s: float = 0.0, substreams: int = 8, words: int = 5, keep_files: bool = True
) -> Topology:
    """Split sentences from JSON files in `folder` and count their words; each sentence takes `cost_s` longer.

    Spark lists all files of the folder for every batch, so it may not grow for long: without `keep_files` those of
    committed batches are deleted.
    """
    return Topology(
        "word count",
        [
            Source("sentences", reader=_reader(folder, "off" if keep_files else "delete")),
            Operator("split", _split(cost_s), inputs="sentences", selectivity=words),
            Operator("count", count_words, inputs="split", key="word", substreams=substreams),
        ],
    )


def sentences(
    weights: np.ndarray, rng: np.random.Generator, *, words: int = 5, rotate_at_s: float = float("inf")
) -> Callable[[float], dict[str, Any]]:
    """Makes sentences of words drawn with `weights`; after `rotate_at_s` other words are the frequent ones."""
    share = np.asarray(weights) / np.sum(weights)
    rotated = np.roll(share, len(share) // 2)

    def make(time_s: float) -> dict[str, Any]:
        drawn = rng.choice(len(share), size=words, p=share if time_s < rotate_at_s else rotated)
        return {"text": " ".join(f"word{index}" for index in drawn)}

    return make


def count_words(words: DataFrame) -> DataFrame:
    return words.groupBy("word").count()


def _reader(folder: Path, clean: str) -> Callable[[SparkSession], DataFrame]:
    @entered_at("entered")
    def read(spark: SparkSession) -> DataFrame:
        return spark.readStream.schema(SCHEMA).option("cleanSource", clean).json(str(folder))

    return read


def _split(cost_s: float) -> Any:
    @per_record("word string")
    def split(sentence: dict[str, Any]) -> Iterator[dict[str, str]]:
        if cost_s:
            time.sleep(cost_s)
        for word in sentence["text"].split():
            yield {"word": word}

    return split


@checked("word string")
def split_checked(sentence: dict[str, Any]) -> Iterator[dict[str, str]]:
    for word in sentence["text"].split():
        yield {"word": word}


def topology(folder: Path) -> Topology:
    """Word count that sets unusable sentences aside."""
    return Topology(
        "wordcount",
        [
            Source("sentences", reader=json_records(folder, "text string")),
            Operator("split", split_checked, inputs="sentences", outputs={"good": 5, "rejected": 0}),
            Operator("count", count_words, inputs="split.good", key="word", substreams=8),
        ],
    )


APPLICATION = Application(
    topology, lambda seed: sentences(zipf(500, 0.9), np.random.default_rng(seed)), Sine(300, 200, "2m")
)
