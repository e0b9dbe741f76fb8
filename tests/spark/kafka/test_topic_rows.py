"""A topic in place of another source: its records become the rows that the source would read."""

import datetime as dt

import pytest

from rheostat.cli.topic_sources import ONLY, read_from_topics
from rheostat.topology import Operator, Source, Topology


@pytest.mark.spark
def test_records_become_the_rows_that_the_source_would_read(spark):
    at = dt.datetime(2026, 11, 16, 12)
    record = "value binary, timestamp timestamp"

    def decoded(schema: str, value: str) -> dict:
        source = Source("in", reader=lambda session: session.createDataFrame([], schema))
        topology = Topology("t", [source, Operator("work", inputs="in")])
        topic = read_from_topics(topology, {ONLY: "kafka:orders@broker:9092"}, {}).sources["in"].reader
        [row] = topic(spark.createDataFrame([(value.encode(), at)], record)).collect()
        return row.asDict()

    assert decoded("entered timestamp, text string", "a b") == {"entered": at, "text": "a b"}
    several = "entered timestamp, name string, price long, malformed string"
    whole = {"entered": at, "name": "x", "price": 3, "malformed": None}
    assert decoded(several, '{"name": "x", "price": 3}') == whole
    assert decoded(several, "no JSON")["malformed"] == "no JSON"
