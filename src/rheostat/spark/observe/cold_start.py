"""Cold start: the batches that are no evidence of what work costs, because executors or a query are new.

The first batches of a query take seconds whatever their rows: classes are loaded, code is generated and compiled,
Python workers and state stores start. So does the first batch on a new executor. Counted as load, five rows would look
like an overload. A cold start ends after a few batches with rows and a look at the tasks of the next one, or after some
time at work, whichever comes first: a first batch that reads a huge backlog takes long because of its rows.
"""

from collections.abc import Collection

from rheostat.names import OperatorName
from rheostat.spark.query.batch_log import BatchRecord

COLD_BATCHES = 3
"""Batches with rows that are no evidence after a query has started, or after all executors were replaced."""

LONGEST_COLD_S = 30.0
"""Time at work after which a cold start is over, even within its first batch."""


class ColdStart:
    """One operator: whether its query and its executors are too new to show what its work costs.

    An executor that joins others makes one batch cold. `batches` is how many are after a start; with 0 nothing is cold.
    `by_samples` says that the tasks of batches are looked at.
    """

    def __init__(self, batches: int = COLD_BATCHES, *, by_samples: bool = False) -> None:
        self._batches, self._by_samples = batches, by_samples
        self._known: set[str] = set()
        self.restart()

    def restart(self) -> None:
        """Another query begins."""
        self._left = self._batches
        self._is_sampled = not (self._by_samples and self._batches)
        self._at_work_s = self._in_batches_s = 0.0

    @property
    def is_cold(self) -> bool:
        """Whether what was done up to now does not show what work costs."""
        return self.are_batches_cold or (not self._is_sampled and not self._is_overdue)

    @property
    def are_batches_cold(self) -> bool:
        """Whether the batch under way, if there is one, is no evidence."""
        return self._left > 0 and not self._is_overdue

    def is_cold_after(self, worked_s: float) -> bool:
        """Whether the batch under way is no evidence, though executors have been at work on it for so long."""
        return self.are_batches_cold and self._in_batches_s + worked_s < LONGEST_COLD_S

    @property
    def _is_overdue(self) -> bool:
        return max(self._at_work_s, self._in_batches_s) >= LONGEST_COLD_S

    def add(self, batch: BatchRecord) -> bool:
        """Count a committed batch, and return whether it is evidence: one that takes long enough always is."""
        if not self.is_cold:
            return True
        is_evidence = not self.are_batches_cold or batch.duration_s >= LONGEST_COLD_S
        self._left -= 1 if batch.row_count else 0
        self._in_batches_s += batch.duration_s
        return is_evidence

    def sampled(self) -> None:
        """The tasks of a batch that is evidence were looked at."""
        self._is_sampled = True

    def join(self, executors: Collection[str]) -> bool:
        """These of Spark's executors worked. Returns whether one of them is new, and so was cold."""
        new = set(executors) - self._known
        if new and self._known:
            before = max(self._left, min(1, self._batches)), self._is_sampled
            self.restart()
            if not self._known.isdisjoint(executors):
                self._left, self._is_sampled = before
        self._known |= new
        return bool(new) and self._batches > 0

    def work(self, executors: Collection[str], elapsed_s: float) -> None:
        """These of Spark's executors worked at some time in the last `elapsed_s`; none if nothing was done."""
        self.join(executors)
        self._at_work_s += elapsed_s if executors else 0.0

    def problem(self, operator: OperatorName, *, is_work_unknown: bool) -> str | None:
        """What is unknown for this reason, in words.

        `is_work_unknown` says that it is for some reason of this kind: the operator may be warm by now, or only others
        that share its executors are cold.
        """
        if not self.is_cold:
            return f"the work of operator {operator!r} is unknown: its executors were cold" if is_work_unknown else None
        left = max(1, self._left)
        batches = "its next batch is" if left == 1 else f"its next {left} batches are"
        return f"operator {operator!r} is warming up: {batches} no evidence of what its work costs"
