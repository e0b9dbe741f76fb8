"""Batch under way: what is known of the batch that a query computes now."""

from collections.abc import Iterable

from rheostat.spark.streams.stream import Arrival


def rows_under_way(waiting: Iterable[Arrival], last_commit_s: float) -> int:
    """Rows in the batch that began after the last commit; 0 if nothing waits.

    A batch takes what waits when the one before it is committed; if nothing does, what arrives next.
    """
    arrivals = [arrival for arrival in waiting if arrival.rows]
    first_s = min((arrival.published_s for arrival in arrivals), default=0.0)
    until_s = max(first_s, last_commit_s)
    return sum(arrival.rows for arrival in arrivals if arrival.published_s <= until_s)
