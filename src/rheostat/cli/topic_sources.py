"""Topic sources: the sources of an application replaced by Kafka topics that the command line names."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rheostat.errors import ConfigError, TopologyError, nearest
from rheostat.topology import Source, Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ONLY = ""
"""Stands for the only source of a topology."""


def read_from_topics(topology: Topology, sources: Mapping[str, str], options: Mapping[str, str]) -> Topology:
    """`topology` with these sources as topics, in words by name. `options` are the connector's, for all of them."""
    named = {_source_name(topology, name): text for name, text in sources.items()}
    if not named:
        return topology
    from rheostat.spark.kafka.topic import topic_of

    topics = {
        name: replace(topology.sources[name], reader=topic_of(text, _decode(topology.sources[name]), options))
        for name, text in named.items()
    }
    return Topology(topology.name, [topics.get(part.name, part) for part in topology.parts])


def _source_name(topology: Topology, name: str) -> str:
    if name == ONLY and len(topology.sources) == 1:
        return next(iter(topology.sources))
    if name == ONLY:
        listed = ", ".join(topology.sources)
        raise ConfigError(f"topology {topology.name!r} has several sources ({listed}): give --source NAME=kafka:...")
    if name not in topology.sources:
        raise TopologyError(f"topology {topology.name!r} has no source {name!r}; {nearest(name, topology.sources)}")
    return name


def _decode(source: Source) -> "Callable[[DataFrame], DataFrame]":
    """Records as rows like those that the source itself would read: the value as it is if a row has one text column and
    otherwise at most times, else as JSON. Times that a record does not have are its time stamp."""

    def decode(records: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as sf
        from pyspark.sql.types import StringType, TimestampType

        from rheostat.workloads.intake import MALFORMED

        if source.reader is None:
            return records
        schema = source.reader(records.sparkSession).schema
        times = [field.name for field in schema if isinstance(field.dataType, TimestampType)]
        others = [field for field in schema if field.name not in (*times, MALFORMED)]
        text, stamp = sf.col("value").cast("string"), sf.col("timestamp")
        if len(others) == 1 and isinstance(others[0].dataType, StringType):
            columns = {MALFORMED: sf.lit(None).cast("string"), others[0].name: text, **dict.fromkeys(times, stamp)}
            return records.select(*(columns[name].alias(name) for name in schema.names))
        row = sf.from_json(text, schema, {"columnNameOfCorruptRecord": MALFORMED})
        columns = {name: sf.col(f"row.`{name}`") for name in schema.names}
        columns |= {name: sf.coalesce(columns[name], stamp) for name in times}
        return records.select(row.alias("row"), stamp).select(*(columns[name].alias(name) for name in schema.names))

    return decode
