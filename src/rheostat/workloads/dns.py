"""DNS: queries judged by their names, to find tunnels and generated domains, an application of PA-SPS (§4.6.2).

    queries ──> parse ──good──> features ──> classify ──> count (by client)
                  └─rejected

Tunnels carry data in long names of high entropy; malware draws the names of its servers at random.
"""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from rheostat.load import Erratic
from rheostat.load.skew import zipf
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require, require_timely

QUERY = "at timestamp, client string, name string, type string, bytes long"
TYPES = ("A", "AAAA", "TXT", "MX", "CNAME", "NS", "NULL")
FEATURES = "client string, type string, bytes long, length long, entropy double, digits double, vowels double"


def topology(folder: Path, substreams: int = 8) -> Topology:
    return Topology(
        "dns",
        [
            Source("queries", reader=json_records(folder, QUERY)),
            Operator("parse", parse, inputs="queries", outputs={"good": 1, "rejected": 0}),
            Operator("features", find_features, inputs="parse.good"),
            Operator("classify", classify, inputs="features"),
            Operator("count", count, inputs="classify", key="client", substreams=substreams),
        ],
    )


@checked("client string, type string, bytes long, labels array<string>", optional=["at"])
def parse(query: Record) -> Iterator[Record]:
    labels = query["name"].lower().rstrip(".").split(".")
    require(len(query["name"]) <= 253 and all(0 < len(label) <= 63 for label in labels), "no domain name")
    require(query["type"] in TYPES, "unknown type")
    require(0 < query["bytes"] <= 65_535, "size out of range")
    octets = query["client"].split(".")
    require(len(octets) == 4 and all(octet.isdecimal() and int(octet) < 256 for octet in octets), "unknown client")
    require_timely(query, query["at"] or query["entered"])
    yield {"client": query["client"], "type": query["type"], "bytes": query["bytes"], "labels": labels}


@per_record(FEATURES)
def find_features(query: Record) -> Iterator[Record]:
    """Of the longest label."""
    label = max(query["labels"], key=len)
    shares = [count / len(label) for count in Counter(label).values()]
    yield {
        "client": query["client"],
        "type": query["type"],
        "bytes": query["bytes"],
        "length": len(label),
        "entropy": -sum(share * math.log2(share) for share in shares),
        "digits": sum(letter.isdecimal() for letter in label) / len(label),
        "vowels": sum(letter in "aeiou" for letter in label) / len(label),
    }


@per_record("client string, verdict string")
def classify(query: Record) -> Iterator[Record]:
    if query["length"] > 30 and query["entropy"] > 3.5:
        verdict = "tunnel"
    elif query["length"] > 11 and query["entropy"] > 2.8 and query["vowels"] < 0.3:
        verdict = "generated"
    else:
        verdict = "usual"
    yield {"client": query["client"], "verdict": verdict}


def count(queries: DataFrame) -> DataFrame:
    return queries.groupBy("client", "verdict").agg(sf.count("*").alias("queries"))


SITES = [
    "example", "wikipedia", "python", "weather", "bank", "mail", "video", "news", "shop", "travel", "school",
    "museum", "library", "market", "games",
]  # fmt: skip


def generate(seed: int) -> MakeRecord:
    """Queries of 300 clients; one in 20 of a tunnel, one in 20 for a generated domain."""
    rng = np.random.default_rng(seed)
    activity = zipf(300, 0.8)

    def letters(alphabet: str, count: int) -> str:
        return "".join(alphabet[i] for i in rng.integers(len(alphabet), size=count))

    def make(time_s: float) -> dict[str, Any]:
        chance, client = rng.random(), int(rng.choice(300, p=activity))
        if chance < 0.05:
            name, kind = f"{letters('abcdefghijklmnopqrstuvwxyz234567', 50)}.t.example.net", "TXT"
        elif chance < 0.1:
            name, kind = f"{letters('bcdfghjklmnpqrstvwxz', int(rng.integers(12, 20)))}.info", "A"
        else:
            name, kind = f"www.{rng.choice(SITES)}.{rng.choice(['org', 'com', 'net'])}", "A"
        return {"client": f"10.0.{client // 250}.{client % 250}", "name": name, "type": kind, "bytes": 30 + len(name)}

    return make


APPLICATION = Application(topology, generate, Erratic(100, 600, "15s", seed=3))
