"""Insensitive: every record costs the same, the first simple topology of DABS-Storm (§7.2, figure 9a).

values ──> work ──good──> finalize
             └─rejected
"""

from collections.abc import Iterator
from pathlib import Path

from rheostat.load import Progressive
from rheostat.spark.query.per_record.record_function import Record
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.intake import checked, json_records, require
from rheostat.workloads.sensitive import VALUES, finalize, generate, hashed

ROUNDS = 2000


def topology(folder: Path) -> Topology:
    return Topology(
        "insensitive",
        [
            Source("values", reader=json_records(folder, "value long")),
            Operator("work", work, inputs="values", outputs={"good": 1, "rejected": 0}),
            Operator("finalize", finalize, inputs="work.good"),
        ],
    )


@checked("value long, digest string")
def work(record: Record) -> Iterator[Record]:
    require(0 <= record["value"] < VALUES, "value out of range")
    yield {"value": record["value"], "digest": hashed(record["value"], ROUNDS)}


APPLICATION = Application(topology, generate, Progressive(50, 400, "1m", "1m", "1m"))
