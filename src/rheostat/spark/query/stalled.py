"""Stalled queries: those that have committed no rows since their start although rows were there for them."""

from collections.abc import Iterable

from rheostat.spark.query.unit_query import UnitQuery

LONGEST_FIRST_WAIT_S = 10.0
"""Rows that came later than this before the end of a run had no time to be processed."""


def stalled_parts(queries: Iterable[UnitQuery], now_s: float) -> dict[str, int | None]:
    """The operators and sources of stalled queries, with how many rows wait for them; None for a source's own rows."""
    rows = {query: _rows_left(query, now_s) for query in queries if not _has_run(query)}
    return {part: left for query, left in rows.items() if left != 0 for part in query.unit.parts}


def _has_run(query: UnitQuery) -> bool:
    records = query.batches.after(-1)
    return any(record.row_count for record in records) if query.readers else bool(records)


def _rows_left(query: UnitQuery, now_s: float) -> int | None:
    """What waits in its streams for long enough. A source has no stream: it has rows if a batch of it is planned."""
    if not query.readers:
        return None if query.batches.has_uncommitted else 0
    waiting = [arrival for reader in query.readers.values() for arrival in reader.waiting() or ()]
    is_late = all(now_s - arrival.published_s < LONGEST_FIRST_WAIT_S for arrival in waiting if arrival.rows)
    return 0 if is_late else sum(arrival.rows for arrival in waiting)
