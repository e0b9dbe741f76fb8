"""How much of what waits in a stream one batch takes: what lasts a while at the pace of the batch before.

A batch keeps the executors that it began with. One that took all of a long queue would hold up whatever is decided
meanwhile: more executors would help only those that come behind it. Longer batches do more in the same time, though,
and a load may need them: so each may always have some more rows than the one before.
"""

from collections.abc import Sequence

from rheostat.spark.streams.stream import Arrival

LONGEST_S = 10.0
"""Long against what a batch costs whatever its rows, short against the time in which a queue gets out of hand."""

GROWTH = 2.0
"""Times the rows of the batch before, which every batch may have."""


class Pace:
    """Of one reader. Before its first batch has ended nothing is held back."""

    def __init__(self, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._under_way: tuple[int, float] | None = None
        self._most_rows: float | None = None

    def begin(self, rows: int, now_s: float) -> None:
        """A batch of so many rows begins."""
        self._under_way = (rows, now_s)

    def end(self, now_s: float) -> None:
        """The batch that was begun, if any, is over."""
        if self._under_way is None:
            return
        rows, begun_s = self._under_way
        self._under_way = None
        if rows and now_s > begun_s:
            self._most_rows = rows * max(GROWTH, self._longest_s / (now_s - begun_s))

    def at_once(self, arrivals: Sequence[Arrival]) -> Sequence[Arrival]:
        """The first of `arrivals`, at least one, as many as one batch should take."""
        rows = 0
        for count, arrival in enumerate(arrivals):
            rows += arrival.rows
            if count and self._most_rows is not None and rows > self._most_rows:
                return arrivals[:count]
        return arrivals
