"""Opinions: what people in a city, and of an age, think of a topic, the real topology of DABS-Storm (§7.2, figure 10).

    opinions ──> dispatch ──located──> locate ──> cities (by city) ──┐
                    │ └─────aged─────────────────> ages (by group) ──┴─> persist
                    └─rejected

To find the city of a code takes longer for some codes than for others: `locate` is grouped by cost.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from rheostat.load import Progressive
from rheostat.load.skew import zipf
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require
from rheostat.workloads.sensitive import ROUNDS, hashed

OPINION = "user long, age long, code long, topic string, opinion string"
TOPICS = ("transport", "schools", "parks", "taxes", "housing", "weather", "gossip")
IRRELEVANT = ("weather", "gossip")
OPINIONS = ("for", "against", "undecided")
CODES, CITIES = len(ROUNDS), 12


def topology(folder: Path, substreams: int = 8) -> Topology:
    relevant = 1 - len(IRRELEVANT) / len(TOPICS)
    return Topology(
        "opinions",
        [
            Source("opinions", reader=json_records(folder, OPINION)),
            Operator(
                "dispatch", dispatch, inputs="opinions", outputs={"located": relevant, "aged": relevant, "rejected": 0}
            ),
            Operator("locate", locate, inputs="dispatch.located"),
            Operator("cities", by_city, inputs="locate", key="city", substreams=substreams),
            Operator("ages", by_age, inputs="dispatch.aged", key="age_group", substreams=substreams),
            Operator("persist", persist, inputs=["cities", "ages"]),
        ],
    )


@checked(
    {"located": "code long, topic string, opinion string", "aged": "age_group string, topic string, opinion string"}
)
def dispatch(opinion: Record) -> Iterator[tuple[str, Record]]:
    """What each branch needs, without irrelevant topics."""
    require(0 <= opinion["age"] <= 120, "age out of range")
    require(0 <= opinion["code"] < CODES, "unknown code")
    require(opinion["topic"] in TOPICS, "unknown topic")
    require(opinion["opinion"] in OPINIONS, "unknown opinion")
    if opinion["topic"] not in IRRELEVANT:
        told = {"topic": opinion["topic"], "opinion": opinion["opinion"]}
        yield "located", {"code": opinion["code"], **told}
        yield "aged", {"age_group": f"{opinion['age'] // 10 * 10}s", **told}


@per_record("city string, topic string, opinion string", cost="code")
def locate(opinion: Record) -> Iterator[Record]:
    yield {"city": city_of(opinion["code"]), "topic": opinion["topic"], "opinion": opinion["opinion"]}


def city_of(code: int) -> str:
    """Stands for a look-up that takes longer for some codes."""
    return f"city {int(hashed(code, ROUNDS[code])[:8], 16) % CITIES}"


def by_city(opinions: DataFrame) -> DataFrame:
    return opinions.groupBy("city", "topic", "opinion").agg(sf.count("*").alias("persons"))


def by_age(opinions: DataFrame) -> DataFrame:
    return opinions.groupBy("age_group", "topic", "opinion").agg(sf.count("*").alias("persons"))


def persist(cities: DataFrame, ages: DataFrame) -> DataFrame:
    """The subgroups of both branches, in one form."""
    return cities.withColumnRenamed("city", "subgroup").unionByName(ages.withColumnRenamed("age_group", "subgroup"))


def generate(seed: int) -> MakeRecord:
    """Opinions of users whose codes are drawn by Zipf 1.5."""
    rng, shares = np.random.default_rng(seed), zipf(CODES, 1.5)

    def make(time_s: float) -> dict[str, Any]:
        return {
            "user": int(rng.integers(10**6)),
            "age": int(np.clip(rng.normal(40, 18), 12, 99)),
            "code": int(rng.choice(CODES, p=shares)),
            "topic": TOPICS[rng.integers(len(TOPICS))],
            "opinion": OPINIONS[rng.choice(3, p=[0.45, 0.4, 0.15])],
        }

    return make


APPLICATION = Application(topology, generate, Progressive(30, 250, "1m", "1m", "1m"), "20s/60s")
