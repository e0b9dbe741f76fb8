"""What published files hold for a reader: how many rows, and when they entered.

Where all rows of a file entered at one moment, as those do that a source stamped when it read them, the file's footer
tells it, and nothing of the rows is read.
"""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rheostat.errors import PlantError
from rheostat.spark.streams.entry_times import ENTRY, ENTRY_ARROW, EntryTimes, entry_times, together
from rheostat.spark.streams.outputs import OUTPUT
from rheostat.spark.streams.sink_log import PublishedFile

_US = 1e6

FOOTER_OPTIONS = {f"parquet.column.statistics.enabled#{ENTRY}": "true"}
"""What the files must be written with for their footers to tell."""


class Content(NamedTuple):
    """`entry` is None where the rows do not carry their entry times."""

    rows: int
    entry: EntryTimes | None


def content_of(files: Sequence[PublishedFile], output: str | None) -> Content:
    """Of `files` together; of several outputs in one stream only `output`."""
    return _together([_content(file, output) for file in files])


def _content(file: PublishedFile, output: str | None) -> Content:
    try:
        parquet = pq.ParquetFile(file.path)
        return _whole(parquet) if output is None else _part(parquet, output)
    except (pa.ArrowException, OSError) as error:
        raise PlantError(
            f"the stream file {file.path} is damaged ({error}); it was published with {file.bytes} bytes"
        ) from error


def _whole(parquet: pq.ParquetFile) -> Content:
    rows = parquet.metadata.num_rows
    if ENTRY not in parquet.schema_arrow.names:
        return Content(rows, None)
    moment_us = _one_moment(parquet.metadata, parquet.schema_arrow.get_field_index(ENTRY))
    if moment_us is not None:
        return Content(rows, EntryTimes.at(moment_us / _US, rows))
    return Content(rows, _times_in(parquet.read(columns=[ENTRY])))


def _part(parquet: pq.ParquetFile, output: str) -> Content:
    columns = [name for name in (ENTRY, OUTPUT) if name in parquet.schema_arrow.names]
    table = parquet.read(columns=columns).filter(pc.field(OUTPUT) == output)
    return Content(table.num_rows, _times_in(table) if ENTRY in columns else None)


def _one_moment(metadata: pq.FileMetaData, column: int) -> int | None:
    """At which all rows entered, if the footer says so."""
    told = [metadata.row_group(group).column(column).statistics for group in range(metadata.num_row_groups)]
    if not told or any(each is None or not each.has_min_max or each.null_count for each in told):
        return None
    moments = {moment for each in told for moment in (each.min_raw, each.max_raw)}
    return int(moments.pop()) if len(moments) == 1 else None


def _times_in(table: pa.Table) -> EntryTimes:
    return entry_times(pa.chunked_array(table.column(ENTRY).chunks, ENTRY_ARROW))


def _together(contents: Sequence[Content]) -> Content:
    entries = [each.entry for each in contents if each.entry is not None]
    return Content(sum(each.rows for each in contents), together(entries))
