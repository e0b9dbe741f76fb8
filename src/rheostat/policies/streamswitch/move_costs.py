"""Move costs: the useful time that executors lose while substreams move.

The paper moves whenever that cures. Here a move that only relieves is made as well where no executor may be added, and
that is right if moves cost nothing. Where a move pauses both executors it has to be weighed (`model.move_terms`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rheostat.policies.observation import PoolView
from rheostat.policies.streamswitch.model.executor import ExecutorModel
from rheostat.policies.streamswitch.model.move_terms import FREE_MOVES, MoveTerms

_NEWEST = 0.25
"""Weight of the newest move in the average of costs."""

_FREE_SHARE = 0.05
"""A move that costs less than this share of a window costs nothing: so much is measured by chance."""


@dataclass(slots=True)
class _Change:
    """A new assignment on its way: since when, and the useful time of the executors that it concerns until then."""

    since_s: float
    busy_s: dict[int, float]


@dataclass(slots=True)
class MoveCosts:
    """Follows the assignment of one pool, turn by turn."""

    _cost_s: float | None = None
    _pauses_s: dict[int, float] = field(default_factory=dict)
    _owners: tuple[int, ...] = ()
    _busy_s: dict[int, float] = field(default_factory=dict)
    _load: dict[int, float] = field(default_factory=dict)
    _time_s: float = 0.0
    _change: _Change | None = None
    _ended_s: float = 0.0

    def update(self, pool: PoolView, owners: tuple[int, ...], time_s: float) -> None:
        """Add one more turn, with the executor that each substream is planned to be on."""
        busy_s = {each.id: each.busy_s for each in pool.executors if each.busy_s is not None}
        if self._owners and owners != self._owners and self._change is None:
            moved = [pair for pair in zip(self._owners, owners, strict=True) if pair[0] != pair[1]]
            concerned = {number for pair in moved for number in pair}
            self._change = _Change(self._time_s, {n: at_s for n, at_s in self._busy_s.items() if n in concerned})
        if self._change is not None and not pool.settling:
            self._end(self._change, busy_s, time_s)
        self._owners, self._busy_s, self._time_s = owners, busy_s, time_s

    def loaded(self, executors: Sequence[ExecutorModel]) -> None:
        """The executors as they were last examined: without a move they would be busy for this share of the time."""
        self._load = {each.id: min(1.0, each.arrival_rate / each.capacity.service_rate) for each in executors}

    def pause_s(self, executor: int, window_s: float) -> float:
        """What the last move added at most to the latencies that are measured over `window_s`."""
        pause_s = self._pauses_s.get(executor, 0.0)
        is_over = self._time_s - self._ended_s > window_s + pause_s
        return 0.0 if is_over or self._are_free(window_s) else pause_s

    def terms(self, window_s: float) -> MoveTerms:
        """What another move has to bring now."""
        if self._are_free(window_s):
            return FREE_MOVES
        return MoveTerms(self._cost_s or 0.0, self._time_s - self._ended_s, window_s)

    def _are_free(self, window_s: float) -> bool:
        return self._cost_s is None or self._cost_s < _FREE_SHARE * window_s

    def _end(self, change: _Change, busy_s: Mapping[int, float], time_s: float) -> None:
        took_s = time_s - change.since_s
        lost_s = {
            number: self._load.get(number, 1.0) * took_s - (busy_s[number] - before_s)
            for number, before_s in change.busy_s.items()
            if busy_s.get(number, -1.0) >= before_s
        }
        total_s = sum(lost_s.values())
        self._cost_s = total_s if self._cost_s is None else self._cost_s + _NEWEST * (total_s - self._cost_s)
        self._pauses_s = {number: max(0.0, each_s) for number, each_s in lost_s.items()}
        self._change, self._ended_s = None, time_s
