"""Twitter, wide: news and opinions in tweets take different ways, the larger application of PA-SPS (§4.5, figure 11).

    tweets ──> clean ──good──> kind ──news─────> source ────> trust ─────┐
                 └─rejected      └──opinions──> sentiment ──> strength ──┴─> unite ──> store

Eight operators, none with state. A tweet of a press or official account is news.
"""

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame

from rheostat.load import Erratic
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.intake import json_records
from rheostat.workloads.twitter import CLEAN, TWEET, author_kind, clean, generate

POSITIVE = {"great", "right", "friends", "goal", "vaccine", "home"}
NEGATIVE = {"never", "virus", "inflation", "symptoms", "little"}
JUDGED = "id long, label string, weight double"


def topology(folder: Path) -> Topology:
    return Topology(
        "twitter-wide",
        [
            Source("tweets", reader=json_records(folder, TWEET)),
            Operator("clean", clean, inputs="tweets", outputs={"good": 1, "rejected": 0}),
            Operator("kind", tell_kind, inputs="clean.good", outputs={"news": 0.62, "opinions": 0.38}),
            Operator("source", find_source, inputs="kind.news"),
            Operator("trust", weigh_source, inputs="source"),
            Operator("sentiment", find_sentiment, inputs="kind.opinions"),
            Operator("strength", weigh_sentiment, inputs="sentiment"),
            Operator("unite", unite, inputs=["trust", "strength"]),
            Operator("store", store, inputs="unite"),
        ],
    )


@per_record({"news": CLEAN, "opinions": CLEAN})
def tell_kind(tweet: Record) -> Iterator[tuple[str, Record]]:
    yield ("news" if author_kind(tweet["user"]) in ("press", "official") else "opinions"), tweet


@per_record("id long, kind string, words long")
def find_source(tweet: Record) -> Iterator[Record]:
    yield {"id": tweet["id"], "kind": author_kind(tweet["user"]), "words": len(tweet["words"])}


@per_record(JUDGED)
def weigh_source(news: Record) -> Iterator[Record]:
    trust = 0.9 if news["kind"] == "official" else 0.7
    yield {"id": news["id"], "label": f"news/{news['kind']}", "weight": trust * min(1.0, news["words"] / 20)}


@per_record("id long, positive long, negative long, words long")
def find_sentiment(tweet: Record) -> Iterator[Record]:
    words = [*tweet["words"], *tweet["tags"]]
    positive, negative = (sum(word in known for word in words) for known in (POSITIVE, NEGATIVE))
    yield {"id": tweet["id"], "positive": positive, "negative": negative, "words": len(words)}


@per_record(JUDGED)
def weigh_sentiment(opinion: Record) -> Iterator[Record]:
    balance = opinion["positive"] - opinion["negative"]
    label = "positive" if balance > 0 else "negative" if balance < 0 else "neutral"
    yield {"id": opinion["id"], "label": f"opinion/{label}", "weight": abs(balance) / max(1, opinion["words"])}


def unite(news: DataFrame, opinions: DataFrame) -> DataFrame:
    return news.unionByName(opinions)


@per_record("key string, value double")
def store(judged: Record) -> Iterator[Record]:
    """A document for the database, by its key."""
    yield {"key": f"{judged['label']}/{judged['id']}", "value": judged["weight"]}


APPLICATION = Application(topology, generate, Erratic(30, 200, "15s", seed=1), "20s/60s")
