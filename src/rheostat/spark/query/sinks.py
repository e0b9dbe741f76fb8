"""Where results go: whatever leaves the topology is handed, batch by batch, to a sink.

A sink is any function of a DataFrame and a batch number. After a failure Spark repeats the batch that was not
committed, with the same number and the same rows: a sink that writes under that number, or skips one it has seen,
holds every result exactly once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame

Sink = Callable[[DataFrame, int], None]


@dataclass(frozen=True, slots=True)
class Folder:
    """Files under `path`, a sub-folder for each batch that a repetition replaces: exactly once.

    Readers see the batch number as a column named `batch`. Nothing is kept open or remembered, so a batch costs
    the same on the first day and on the hundredth.
    """

    path: Path | str
    format: str = "parquet"
    options: dict[str, str] = field(default_factory=dict)

    def __call__(self, df: DataFrame, batch: int) -> None:
        folder = f"{self.path}/batch={batch}"
        df.write.format(self.format).options(**self.options).mode("overwrite").save(folder)


def as_sink(sink: Sink | Path | str) -> Sink:
    """A path is a folder of Parquet files."""
    return Folder(sink) if isinstance(sink, Path | str) else sink
