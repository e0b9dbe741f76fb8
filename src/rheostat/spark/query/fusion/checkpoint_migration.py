"""Checkpoint migration: queries that replace others continue where those stopped, without loss or duplicates.

All queries of the chain have stopped, and each has read everything that the one before it published. A new query that
ends with the same operator as an old one keeps that one's batch numbers, which its state, its stream and its sinks
refer to. Any other new query continues after the newest batch of the stream that it writes.
"""

from collections.abc import Callable
from pathlib import Path

from rheostat.spark.query.fusion.checkpoint import FEWEST_BATCHES, stop_point_of, write_checkpoint
from rheostat.spark.query.fusion.query_changes import QueryChange
from rheostat.spark.streams.python_source import NOTHING_YET
from rheostat.spark.streams.sink_log import SinkLog

FolderOf = Callable[[str], Path]
"""The folder of a query's checkpoint, or of a stream, by name."""

_EMPTY_BATCH = "v1"


def migrate_checkpoints(change: QueryChange, checkpoint: FolderOf, stream: FolderOf) -> None:
    """Write the checkpoints of the new queries. Those of the old ones are left as they are."""
    stops = {parts[-1]: stop_point_of(checkpoint("+".join(parts))) for parts in change.before}
    position = stops[change.before[0][-1]].position
    last = stops[change.before[-1][-1]]
    for parts in change.after:
        log = _opened_log(stream(parts[-1]), fill=parts != change.after[-1])
        own = stops.get(parts[-1])
        batch = log.newest() if own is None else own.batch
        write_checkpoint(checkpoint("+".join(parts)), own or last, batch, position, keep_state=own is not None)
        position = _end_of(log)


def _opened_log(folder: Path, *, fill: bool) -> SinkLog:
    """The log of a stream. With `fill`, a stream that was never written gets batches without files."""
    log = SinkLog(folder)
    if fill and log.newest() == NOTHING_YET:
        entries = folder / "_spark_metadata"
        entries.mkdir(parents=True, exist_ok=True)
        for number in range(FEWEST_BATCHES):
            (entries / str(number)).write_text(_EMPTY_BATCH)
    return log


def _end_of(log: SinkLog) -> int:
    """The position after which the stream is read; nothing was read of one that was never written.

    Every batch that Spark writes has at least one file, so a batch without files was filled in here.
    """
    newest = log.newest()
    return newest if newest != NOTHING_YET and log.files(newest) else NOTHING_YET
