"""FPD: maximal frequent patterns in a sliding window of a microblog, the second application of DRS (§V-A-2, figure 5).

    enter ──┐
            ├─> generate ──good──> detect (by pattern) ──> report
    leave ──┘      └─rejected        │    ^
                                     └────┘ notices

A pattern is a set of words. It is frequent while at least `THRESHOLD` tweets in the window contain it, and maximal
while no larger frequent pattern contains it. `detect` has the count of each pattern, and of its frequent supersets.
When a pattern becomes frequent or ceases to be, it notifies those with one word less by the loop, wherever they are.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from rheostat.load import Constant
from rheostat.load.skew import zipf
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.spark.query.user_functions import emits
from rheostat.spark.streams.entry_times import entered_at
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require

TWEET = "number long, sign string, text string"
WINDOW = 5_000
"""Tweets in the window; DRS has 50,000."""
THRESHOLD = 50
MOST_WORDS = 3
"""The largest patterns; a tweet of n words has all their combinations, so n decides what it costs."""
LONGEST = 12

PATTERN = "pattern string, change long"
"""How many more tweets of the window contain the pattern."""
DETECTED = "kind string, pattern string, change long, maximal boolean, version long"
"""A `notice` to a pattern that so many more of its supersets are frequent, or that a pattern is `maximal`, or not."""


def topology(folder: Path, substreams: int = 8, threshold: int = THRESHOLD) -> Topology:
    return Topology(
        "fpd",
        [
            Source("enter", reader=_tweets(folder, "+")),
            Source("leave", reader=_tweets(folder, "-")),
            Operator("unite", unite, inputs=["enter", "leave"]),
            Operator("generate", find_patterns, inputs="unite", outputs={"good": 20, "rejected": 0}),
            Operator(
                "detect", detector(threshold), inputs=["generate.good", "detect"], key="pattern", substreams=substreams,
                selectivity=0.1,
            ),
            Operator("report", report, inputs="detect", selectivity=0.5),
        ],
    )  # fmt: skip


def _tweets(folder: Path, sign: str) -> Callable[[SparkSession], DataFrame]:
    """Tweets with this sign; those with none of the two are for `enter`, to be rejected once."""
    read = json_records(folder, TWEET)

    @entered_at("entered")
    def read_sign(spark: SparkSession) -> DataFrame:
        leaves = sf.coalesce(sf.col("sign") == "-", sf.lit(False))
        return read(spark).filter(leaves if sign == "-" else ~leaves)

    return read_sign


def unite(enter: DataFrame, leave: DataFrame) -> DataFrame:
    return enter.unionByName(leave)


@checked(PATTERN)
def find_patterns(tweet: Record) -> Iterator[Record]:
    """All combinations of up to three words of a tweet: there are many of a tweet with many words."""
    require(tweet["sign"] in ("+", "-"), "unknown sign")
    require(len(tweet["text"]) <= 4000, "text too long")
    change = 1 if tweet["sign"] == "+" else -1
    for pattern in patterns(tweet["text"]):
        yield {"pattern": pattern, "change": change}


def patterns(text: str) -> Iterator[str]:
    words = sorted(set(text.lower().split()[:LONGEST]))
    for size in range(1, MOST_WORDS + 1):
        yield from map(" ".join, combinations(words, size))


def detector(threshold: int) -> Callable[[DataFrame, DataFrame], DataFrame]:
    @emits(DETECTED)
    def detect(counted: DataFrame, detected: DataFrame) -> DataFrame:
        notices = detected.filter("kind = 'notice'").select("pattern", "change", sf.lit(True).alias("notice"))
        changes = counted.withColumn("notice", sf.lit(False)).unionByName(notices)
        return changes.groupBy("pattern").transformWithState(Detector(threshold), DETECTED, "Update", "None")

    return detect


class Detector(StatefulProcessor):
    """Keeps, for each pattern: tweets that contain it, frequent supersets with one word more, what was last reported
    (maximal or not), and how often."""

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.pattern = handle.getValueState("pattern", "tweets long, supersets long, maximal boolean, version long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        tweets = supersets = 0
        for row in rows:
            tweets, supersets = (
                (tweets, supersets + row["change"]) if row["notice"] else (tweets + row["change"], supersets)
            )
        before = State(*(self.pattern.get() or (0, 0, False, 0)))
        after, made = changed(key[0], before, tweets, supersets, self.threshold)
        self.pattern.update(tuple(after))
        yield from (Row(**record) for record in made)

    def close(self) -> None:
        pass


class State(NamedTuple):
    tweets: int
    supersets: int
    maximal: bool
    version: int


def changed(pattern: str, before: State, tweets: int, supersets: int, threshold: int) -> tuple[State, list[Record]]:
    """The state of a pattern with so many more tweets and frequent supersets, and what others must know of it."""
    made: list[Record] = []
    counts = before.tweets + tweets, before.supersets + supersets
    frequent = counts[0] >= threshold
    if frequent != (before.tweets >= threshold):
        step, words = (1 if frequent else -1), pattern.split()
        nothing = {"maximal": None, "version": None}
        made += [
            {"kind": "notice", "pattern": " ".join(subset), "change": step, **nothing}
            for subset in combinations(words, len(words) - 1)
            if subset
        ]
    maximal = frequent and counts[1] == 0
    after = State(*counts, maximal, before.version + (maximal != before.maximal))
    if maximal != before.maximal:
        told = {"maximal": maximal, "version": after.version}
        made.append({"kind": "maximal", "pattern": pattern, "change": None, **told})
    return after, made


@per_record("pattern string, maximal boolean, version long")
def report(detected: Record) -> Iterator[Record]:
    """Updates: the one with the highest version holds."""
    if detected["kind"] == "maximal":
        yield {name: detected[name] for name in ("pattern", "maximal", "version")}


def generate(seed: int, window: int = WINDOW) -> MakeRecord:
    """Tweets of 2 to 9 words, some of them of one topic; each tweet that enters a full window makes one leave."""
    rng = np.random.default_rng(seed)
    words, shares = [f"w{n}" for n in range(2000)], np.cumsum(zipf(2000, 0.9))
    topics = [[f"t{topic}{letter}" for letter in "abcd"] for topic in range(12)]
    topic_shares = zipf(12, 1.0)
    inside: deque[Record] = deque()
    number = 0

    def make(time_s: float) -> Record:
        nonlocal number
        if len(inside) > window:
            return {**inside.popleft(), "sign": "-"}
        number += 1
        drawn = [words[min(int(np.searchsorted(shares, rng.random())), 1999)] for _ in range(int(rng.integers(1, 6)))]
        topic = [word for word in topics[rng.choice(12, p=topic_shares)] if rng.random() < 0.7]
        inside.append({"number": number, "sign": "+", "text": " ".join([*drawn, *topic])})
        return inside[-1]

    return make


APPLICATION = Application(topology, generate, Constant(20), "20s/60s")
