"""Sinks: where the results of a topology go, batch by batch.

A sink is any function of a DataFrame and a batch number. After a failure Spark repeats the batch that was not
committed, with the same number and the same rows. A sink that overwrites what it wrote under that number, or skips a
number it has seen, holds every result exactly once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from rheostat.errors import ConfigError, TopologyError, nearest
from rheostat.spark.kafka.topic import PREFIX, KafkaTopic, topic_of
from rheostat.spark.query.unit import Unit

Sink = Callable[[DataFrame, int], None]

_FILE_FORMATS = ("parquet", "json", "csv", "orc")
_CONSOLE = "console"


@dataclass(frozen=True, slots=True)
class FolderSink:
    """Files under `path`, in a sub-folder for each batch. A repeated batch replaces its folder: exactly once.

    Readers see the batch number as a column named `batch`. The sink keeps no state, so a batch costs the same on the
    first day and on the hundredth.
    """

    path: Path | str
    format: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)

    def __call__(self, df: DataFrame, batch: int) -> None:
        folder = f"{self.path}/batch={batch}"
        df.write.format(self.format).options(**self.options).mode("overwrite").save(folder)


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """A Kafka topic. Spark's connector writes at least once: a repeated batch or task writes its records again.

    Every record has the number of its batch in the header `batch`, so that a reader can drop those of a batch that it
    has seen. The value is the column `value` if there is one (with `key`, if that is there too), or else the row as
    JSON.
    """

    topic: KafkaTopic

    def __call__(self, df: DataFrame, batch: int) -> None:
        whole = sf.to_json(sf.struct(*(sf.col(f"`{column}`") for column in df.columns)))
        value = sf.col("value") if "value" in df.columns else whole
        key = [sf.col("key")] if "value" in df.columns and "key" in df.columns else []
        number = sf.struct(sf.lit("batch").alias("key"), sf.lit(str(batch)).cast("binary").alias("value"))
        records = df.select(*key, value.alias("value"), sf.array(number).alias("headers"))
        writer = records.write.format("kafka").options(**self.topic.connector_options)
        writer.option("topic", self.topic.name).option("includeHeaders", "true").save()


@dataclass(frozen=True, slots=True)
class ConsoleSink:
    """The first rows of each batch in the terminal, for trying things out."""

    name: str

    def __call__(self, df: DataFrame, batch: int) -> None:
        print(f"{self.name}, batch {batch}:", flush=True)
        df.show(truncate=False)


def sink_of(result: str, text: Path | str, kafka: Mapping[str, str] | None = None) -> Sink:
    """A sink in words: a path for Parquet files, `json:PATH` and the like for other files, `kafka:TOPIC@BROKERS`, or
    `console`. `kafka` are options of Spark's connector.

    >>> sink_of("count", "json:results/counts")
    FolderSink(path='results/counts', format='json', options={})
    """
    form, colon, path = str(text).partition(":")
    if str(text).startswith(PREFIX):
        return KafkaSink(topic_of(str(text), options=kafka))
    if text == _CONSOLE:
        return ConsoleSink(result)
    if colon and form in _FILE_FORMATS:
        if not path:
            raise ConfigError(f"the sink {text!r} of {result!r} names no folder: write e.g. {form}:results/{result}")
        return FolderSink(path, form)
    return FolderSink(text)


def checked_sinks(
    sinks: Mapping[str, Sink | Path | str], units: Sequence[Unit], kafka: Mapping[str, str] | None = None
) -> dict[str, Sink]:
    """The user's sinks by result, paths and words as `sink_of` reads them; a sink for something else is refused."""
    results = [name for unit in units for name in unit.results]
    for name in sinks:
        if name not in results:
            raise TopologyError(f"a sink is given for {name!r}, which is no result; {nearest(name, results)}")
    return {name: sink_of(name, sink, kafka) if isinstance(sink, Path | str) else sink for name, sink in sinks.items()}
