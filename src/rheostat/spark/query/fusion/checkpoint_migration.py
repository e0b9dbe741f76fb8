"""How queries that replace others go on where those stopped: nothing lost, nothing doubled, state kept.

All of a chain's queries have stopped, and each has taken all that the one before it published. Who ends with the same
operator as before goes on with its numbers: those of its state, of the stream it writes and of the batches that
sinks have seen. Others begin behind the newest batch of the stream that they write from now on.
"""

from collections.abc import Callable
from pathlib import Path

from rheostat.spark.query.fusion.checkpoint import FEWEST_BATCHES, begin_after, stop_of
from rheostat.spark.query.fusion.query_changes import Change
from rheostat.spark.streams.sink_log import SinkLog
from rheostat.spark.streams.source import NOTHING_YET

Folder = Callable[[str], Path]
"""Where something of a query lies, by name."""

_EMPTY_BATCH = "v1"


def carry_over(change: Change, checkpoint: Folder, stream: Folder) -> None:
    """Write the checkpoints of the queries to come. Those of the queries that stopped are left as they are."""
    stops = {parts[-1]: stop_of(checkpoint("+".join(parts))) for parts in change.before}
    position = stops[change.before[0][-1]].position
    final = stops[change.before[-1][-1]]
    for parts in change.after:
        log = _log_of(stream(parts[-1]), empty=parts != change.after[-1])
        own = stops.get(parts[-1])
        batch = log.newest() if own is None else own.batch
        begin_after(own or final, checkpoint("+".join(parts)), batch, position, keep_state=own is not None)
        position = _position_behind(log)


def _log_of(folder: Path, *, empty: bool) -> SinkLog:
    """Of a stream; one that is between two queries and was never written is given batches without files."""
    log = SinkLog(folder)
    if empty and log.newest() == NOTHING_YET:
        entries = folder / "_spark_metadata"
        entries.mkdir(parents=True, exist_ok=True)
        for number in range(FEWEST_BATCHES):
            (entries / str(number)).write_text(_EMPTY_BATCH)
    return log


def _position_behind(log: SinkLog) -> int:
    """All of the stream; of one that was never written, nothing. Spark gives every batch at least one file."""
    newest = log.newest()
    return newest if newest != NOTHING_YET and log.files(newest) else NOTHING_YET
