"""Substream meter: rows and state of each substream of a keyed operator."""

from collections.abc import Sequence

from rheostat.names import OperatorName
from rheostat.snapshot import Snapshot, SubstreamState
from rheostat.spark.observe.counters import RowCount, RowCounters
from rheostat.spark.observe.task_samples import BatchTasks

_KEPT = 0.8
"""What remains with each sample of the weight of those before: shares in a batch of a few rows differ by chance."""


class SubstreamMeter:
    """`count` substreams, 0 for an operator without a key. Counters continue from `base`.

    Rows that are completed are divided as in their batch, rows that wait as in the last few batches together.
    `state_bytes` is the size of all state of the operator's query, which is all that Spark reports.
    """

    def __init__(self, operator: OperatorName, count: int, base: Snapshot | None = None) -> None:
        before = () if base is None else base.substreams_of(operator)
        self._operator, self._count = operator, count
        self._rows = RowCounters({s.index: RowCount(s.arrived or 0, s.completed or 0, 0) for s in before})
        self._shares: list[float] | None = None
        self._recent: dict[int, float] = {}
        self.state_bytes: int | None = None

    def add(self, rows: int, sample: BatchTasks) -> None:
        """`rows` more were completed, spread as in the sampled batch, or as before if that does not show it."""
        if self._count:
            self._shares = sample.by_substream(self._count) or self._shares
        completed = {index: rows * share for index, share in enumerate(self._shares or ())}
        self._rows.add(completed)
        if rows:
            self._recent = {index: _KEPT * self._recent.get(index, 0.0) + each for index, each in completed.items()}

    def states(self, owners: Sequence[int | None], queued: int | None) -> list[SubstreamState]:
        """All substreams; `owners` are the executors that have them, `queued` are the rows that wait for all."""
        owner_of = dict(enumerate(owners))
        state_bytes = None if self.state_bytes is None else self.state_bytes // self._count
        return [
            SubstreamState(self._operator, index, owner_of.get(index), *self._count_of(index, queued), state_bytes)
            for index in range(self._count)
        ]

    def _count_of(self, index: int, queued: int | None) -> tuple[int | None, int | None, int | None]:
        if not self._recent or queued is None:
            return None, None, None
        return self._rows.count(index, round(queued * self._recent[index] / (sum(self._recent.values()) or 1.0)))
