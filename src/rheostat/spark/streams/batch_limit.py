"""Batch limit: how many of the waiting rows one batch may read, from the pace of the batch before it.

A batch keeps the executors that it started with. One that read a whole long backlog would delay every decision made
in the meantime: added executors help only the batches after it. But longer batches process more rows in the same time,
and a load may need that, so a batch may always be larger than the one before.
"""

from collections.abc import Sequence

from rheostat.spark.streams.stream import Arrival

LONGEST_S = 10.0
"""Long compared with the fixed cost of a batch, short compared with the time in which a backlog gets out of hand."""

GROWTH = 2.0
"""A batch may always have this many times the rows of the batch before."""


class BatchLimit:
    """The limit of one reader. There is none before its first batch has ended."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._started: tuple[int, float] | None = None
        self._most_rows: float | None = None

    def batch_started(self, rows: int, now_s: float) -> None:
        self._started = (rows, now_s)

    def batch_ended(self, now_s: float) -> None:
        """Does nothing if no batch has started since the last one ended."""
        if self._started is None:
            return
        rows, started_s = self._started
        self._started = None
        if rows and now_s > started_s:
            self._most_rows = rows * max(GROWTH, self._longest_s / (now_s - started_s))

    def admitted(self, arrivals: Sequence[Arrival]) -> Sequence[Arrival]:
        """The first of `arrivals` that the next batch may read: at least one with rows, however many those are."""
        rows = 0
        for count, arrival in enumerate(arrivals):
            if rows and self._most_rows is not None and rows + arrival.rows > self._most_rows:
                return arrivals[:count]
            rows += arrival.rows
        return arrivals
