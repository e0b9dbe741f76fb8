"""Sensitive: what a record costs depends on its value, the second simple topology of DABS-Storm (§7.2, figure 9b).

    values ──> work ──good──> finalize
                 └─rejected

A value costs as many rounds of hashing as a table says, in random order; values are drawn by Zipf 1.5. The operator
names the column that decides the cost, so records can be grouped by cost (`osg`).
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rheostat.load import Progressive
from rheostat.load.skew import zipf
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require

VALUES = 64
ROUNDS = tuple(int(rounds) for rounds in np.random.default_rng(5).permutation(VALUES) * 100 + 100)
"""How many rounds each value costs: 100 to 6,400, a few hundred microseconds to some milliseconds."""


def topology(folder: Path) -> Topology:
    return Topology(
        "sensitive",
        [
            Source("values", reader=json_records(folder, "value long")),
            Operator("work", work, inputs="values", outputs={"good": 1, "rejected": 0}),
            Operator("finalize", finalize, inputs="work.good"),
        ],
    )


def hashed(value: int, rounds: int) -> str:
    """The value hashed so many times."""
    digest = str(value).encode()
    for _ in range(rounds):
        digest = hashlib.sha256(digest).digest()
    return digest.hex()


@checked("value long, digest string", cost="value")
def work(record: Record) -> Iterator[Record]:
    require(0 <= record["value"] < VALUES, "value out of range")
    yield {"value": record["value"], "digest": hashed(record["value"], ROUNDS[record["value"]])}


@per_record("value long, digest string")
def finalize(record: Record) -> Iterator[Record]:
    yield {"value": record["value"], "digest": record["digest"][:16]}


def generate(seed: int) -> MakeRecord:
    rng, shares = np.random.default_rng(seed), zipf(VALUES, 1.5)
    return lambda time_s: {"value": int(rng.choice(VALUES, p=shares))}


APPLICATION = Application(topology, generate, Progressive(50, 400, "1m", "1m", "1m"))
