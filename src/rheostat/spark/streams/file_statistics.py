"""File statistics: the number of rows in published files, and when the rows entered the topology.

Rows that a source stamped when it read them entered at one moment. Then the file's footer has the moment, and no rows
are read.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rheostat.errors import PlantError
from rheostat.spark.streams.entry_times import ENTRY, ENTRY_ARROW, EntryTimes, entry_times, together
from rheostat.spark.streams.named_outputs import OUTPUT
from rheostat.spark.streams.sink_log import PublishedFile

_US = 1e6

FOOTER_OPTIONS = {f"parquet.column.statistics.enabled#{ENTRY}": "true"}
"""Parquet options with which files must be written to have the entry times in their footers."""


class FileStatistics(NamedTuple):
    """`entry` is None where the rows do not carry their entry times."""

    rows: int
    entry: EntryTimes | None


def file_statistics(files: Sequence[PublishedFile], output: str | None) -> FileStatistics:
    """Statistics of all `files` together; `output` selects one of several outputs in a stream."""
    parts = [_statistics(file, output) for file in files]
    entries = [part.entry for part in parts if part.entry is not None]
    return FileStatistics(sum(part.rows for part in parts), together(entries))


def _statistics(file: PublishedFile, output: str | None) -> FileStatistics:
    try:
        parquet = pq.ParquetFile(file.path)
        return _of_all_rows(parquet) if output is None else _of_output(parquet, output)
    except (pa.ArrowException, OSError) as error:
        raise PlantError(
            f"the stream file {file.path} is damaged ({error}); it was published with {file.bytes} bytes"
        ) from error


def _of_all_rows(parquet: pq.ParquetFile) -> FileStatistics:
    rows = parquet.metadata.num_rows
    if ENTRY not in parquet.schema_arrow.names:
        return FileStatistics(rows, None)
    moment_us = _only_moment_us(parquet.metadata, parquet.schema_arrow.get_field_index(ENTRY))
    if moment_us is not None:
        return FileStatistics(rows, EntryTimes.at(moment_us / _US, rows))
    return FileStatistics(rows, _times_in(parquet.read(columns=[ENTRY])))


def _of_output(parquet: pq.ParquetFile, output: str) -> FileStatistics:
    columns = [name for name in (ENTRY, OUTPUT) if name in parquet.schema_arrow.names]
    table = parquet.read(columns=columns).filter(pc.field(OUTPUT) == output)
    return FileStatistics(table.num_rows, _times_in(table) if ENTRY in columns else None)


def _only_moment_us(metadata: pq.FileMetaData, column: int) -> int | None:
    """The moment at which all rows entered, if there is only one and the footer has it."""
    groups = [metadata.row_group(group).column(column).statistics for group in range(metadata.num_row_groups)]
    if not groups or any(each is None or not each.has_min_max or each.null_count for each in groups):
        return None
    moments = {moment for each in groups for moment in (each.min_raw, each.max_raw)}
    return int(moments.pop()) if len(moments) == 1 else None


def _times_in(table: pa.Table) -> EntryTimes:
    return entry_times(pa.chunked_array(table.column(ENTRY).chunks, ENTRY_ARROW))
