"""Sinks: where the results of a topology go, batch by batch.

A sink is any function of a DataFrame and a batch number. After a failure Spark repeats the batch that was not
committed, with the same number and the same rows. A sink that overwrites what it wrote under that number, or skips a
number it has seen, holds every result exactly once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame

from rheostat.errors import TopologyError, nearest
from rheostat.spark.query.unit import Unit

Sink = Callable[[DataFrame, int], None]


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


def checked_sinks(sinks: Mapping[str, Sink | Path | str], units: Sequence[Unit]) -> dict[str, Sink]:
    """The user's sinks by result, a path as a folder of Parquet files; a sink for something else is refused."""
    results = [name for unit in units for name in unit.results]
    for name in sinks:
        if name not in results:
            raise TopologyError(f"a sink is given for {name!r}, which is no result; {nearest(name, results)}")
    return {name: FolderSink(sink) if isinstance(sink, Path | str) else sink for name, sink in sinks.items()}
