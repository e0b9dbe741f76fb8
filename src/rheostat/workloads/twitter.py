"""Twitter: tweets classified by what they say and by who says it, the first application of PA-SPS (§4.1, figure 7).

    tweets ──> clean ──good──> topic ──> author ──> store
                 └─rejected

Four operators in line, none with state. Longer tweets take longer.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.load import Erratic
from rheostat.load.skew import zipf
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require, require_timely

TWEET = "id long, at timestamp, user string, text string"
CLEAN = "id long, user string, words array<string>, tags array<string>"
TOPICS = {
    "health": {"covid", "vaccine", "hospital", "doctor", "virus", "mask", "symptoms"},
    "politics": {"vote", "senate", "president", "law", "minister", "election"},
    "economy": {"market", "jobs", "stocks", "prices", "bank", "inflation"},
    "sport": {"match", "goal", "team", "league", "coach", "olympics"},
}
OTHER_WORDS = [
    "today", "people", "think", "really", "never", "again", "after", "about", "their", "going", "there", "would",
    "could", "every", "still", "always", "morning", "world", "right", "house", "friends", "great", "time", "back",
    "home", "year", "week", "long", "little",
]  # fmt: skip
KINDS = ("press", "official", "expert", "private")
USERS = 5000

_WORD = re.compile(r"[a-z']+")
_TAG = re.compile(r"#(\w+)")
_LINK = re.compile(r"https?://\S+|@\w+")


def topology(folder: Path) -> Topology:
    return Topology(
        "twitter",
        [
            Source("tweets", reader=json_records(folder, TWEET)),
            Operator("clean", clean, inputs="tweets", outputs={"good": 1, "rejected": 0}),
            Operator("topic", find_topic, inputs="clean.good"),
            Operator("author", find_author, inputs="topic"),
            Operator("store", store, inputs="author"),
        ],
    )


@checked(CLEAN, optional=["at"])
def clean(tweet: Record) -> Iterator[Record]:
    """The words and tags of a tweet, without links and names."""
    require(tweet["id"] >= 0, "unknown id")
    require(tweet["user"].startswith("@"), "unknown user")
    require(len(tweet["text"]) <= 4000, "text too long")
    require_timely(tweet, tweet["at"] or tweet["entered"])
    text = _LINK.sub(" ", tweet["text"].lower())
    words = _WORD.findall(_TAG.sub(" ", text))
    yield {"id": tweet["id"], "user": tweet["user"], "words": words, "tags": _TAG.findall(text)}


@per_record("id long, user string, topic string, score double")
def find_topic(tweet: Record) -> Iterator[Record]:
    """The topic with most of the words; a tag counts as three."""
    words = [*tweet["words"], *3 * tweet["tags"]]
    hits = {topic: sum(_stem(word) in _STEMS[topic] for word in words) for topic in TOPICS}
    best = max(hits, key=lambda topic: hits[topic])
    topic, score = (best, hits[best] / len(words)) if hits[best] else ("other", 0.0)
    yield {"id": tweet["id"], "user": tweet["user"], "topic": topic, "score": score}


@per_record("id long, user string, kind string, topic string, score double")
def find_author(tweet: Record) -> Iterator[Record]:
    yield {**tweet, "kind": author_kind(tweet["user"])}


@per_record("key string, value string")
def store(tweet: Record) -> Iterator[Record]:
    """A document for the database, by its key."""
    yield {"key": f"{tweet['topic']}/{tweet['kind']}/{tweet['id']}", "value": f"{tweet['user']} {tweet['score']:.3f}"}


def author_kind(user: str) -> str:
    """Stands for a look-up of the account: few accounts are not private."""
    number = int(user.removeprefix("@user")) if user.removeprefix("@user").isdecimal() else USERS
    return KINDS[0 if number < 20 else 1 if number < 60 else 2 if number < 200 else 3]


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


_STEMS = {topic: {_stem(word) for word in words} for topic, words in TOPICS.items()}


def generate(seed: int) -> MakeRecord:
    """Tweets of 5 to 60 words by users of very different activity."""
    rng = np.random.default_rng(seed)
    activity = np.cumsum(zipf(USERS, 1.1))
    number = 0

    def make(time_s: float) -> dict[str, Any]:
        nonlocal number
        number += 1
        topic = ["", *TOPICS][rng.integers(len(TOPICS) + 1)]
        about = [*sorted(TOPICS[topic])] if topic else OTHER_WORDS
        count = int(np.clip(rng.lognormal(2.7, 0.5), 5, 60))
        words = [str(rng.choice(about if rng.random() < 0.3 else OTHER_WORDS)) for _ in range(count)]
        tag = [f"#{rng.choice(about)}"] if rng.random() < 0.3 else []
        user = min(int(np.searchsorted(activity, rng.random())), USERS - 1)
        link = ["https://t.co/x"] if rng.random() < 0.2 else []
        return {"id": number, "user": f"@user{user}", "text": " ".join([*words, *tag, *link])}

    return make


APPLICATION = Application(topology, generate, Erratic(50, 400, "15s", seed=1))
