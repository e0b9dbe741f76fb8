"""Record log: when each record of a run entered, and when each of its results was there.

Records are numbered as they enter, and results carry the number of their record. Records of the warm-up have negative
numbers and are not part of the run.
"""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ID = "id"
COUNT = "count"


class ResultBatch(NamedTuple):
    """The results of one micro-batch: when they were there, the numbers of their records, and for a keyed operator
    how many records of the same key it had counted by then, with the keys."""

    time_s: float
    ids: NDArray[np.int64]
    keys: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None


class RecordLog:
    """Filled by the feeders and the sinks of one run, in their threads."""

    def __init__(self) -> None:
        self.batches: dict[tuple[str, int], ResultBatch] = {}
        self._entered: list[float] = []
        self._warming = itertools.count(1)
        self._lock = threading.Lock()

    def enter(self, time_s: float) -> int:
        """The number of a record that enters `time_s` after the start of the load."""
        with self._lock:
            self._entered.append(time_s)
            return len(self._entered) - 1

    def warm_up(self) -> int:
        """The number of a record of the warm-up."""
        return -next(self._warming)

    @property
    def entered_s(self) -> NDArray[np.float64]:
        """The entry of each record in seconds since the start of the load."""
        with self._lock:
            return np.array(self._entered)

    def sink(self, operator: str) -> Callable[[Any, int], None]:
        """A sink for the results of `operator`; a batch that is repeated replaces what it wrote before."""

        def take(df: Any, batch: int) -> None:
            table = df.toArrow()
            columns = [
                table.column(name).to_numpy() if name in table.column_names else None for name in ("value", COUNT)
            ]
            self.batches[operator, batch] = ResultBatch(time.time(), table.column(ID).to_numpy(), *columns)

        return take

    def has_results(self, operators: frozenset[str]) -> bool:
        """Whether there are results of each of `operators`."""
        return operators <= {operator for (operator, _), batch in list(self.batches.items()) if len(batch.ids)}

    def lost(self) -> int:
        """Records without a result although there are results of later batches; batches are processed in order."""
        newest: dict[str, int] = {}
        for (operator, _), batch in sorted(self.batches.items(), key=lambda item: item[0][1]):
            if len(batch.ids):
                newest[operator] = int(batch.ids.min())
        completed = self.completed_s(0.0)
        return int(np.isnan(completed[: max(0, min(newest.values(), default=0))]).sum())

    def completed_s(self, start_s: float) -> NDArray[np.float64]:
        """When the last result of each record was there, in seconds since `start_s`; NaN without any."""
        completed = np.full(len(self.entered_s), np.nan)
        for batch in sorted(self.batches.values(), key=lambda each: each.time_s):
            completed[batch.ids[batch.ids >= 0]] = batch.time_s - start_s
        return completed
