"""Action counts: scalings, moves, reversals and late scale-ins of one run, and how long it was out of the SLA.

They come from the turns of the loop and the points of the time series alone, so that they mean the same on all plants.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from rheostat.decision import Move, Scale
from rheostat.experiments.time_series import SeriesPoint
from rheostat.loop.turn import Ruling, Turn
from rheostat.names import PoolName
from rheostat.plan import Plan

REVERSAL_S = 60.0
"""A scale-in that takes a scale-out back so soon reverses it."""


class ActionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """`scalings` and `moves` are accepted decisions. `reversals` are scale-outs that a scale-in of the same pool took
    back within a minute, to fewer executors than they had reached. `scale_ins_late` are scale-ins of a pool while the
    last turn with a finished window had one that missed the SLA.
    """

    scalings: int
    moves: int
    reversals: int
    scale_ins_late: int


class _Resize(NamedTuple):
    time_s: float
    pool: PoolName
    before: int
    after: int


class ActionCounter:
    """Listens to the loop of one run."""

    def __init__(self) -> None:
        self._resizes: list[_Resize] = []
        self._scalings = 0
        self._moves = 0

    def __call__(self, turn: Turn) -> None:
        accepted = [verdict.decision for verdict in turn.ruled(Ruling.ACCEPTED)]
        self._scalings += sum(isinstance(decision, Scale) for decision in accepted)
        self._moves += sum(isinstance(decision, Move) for decision in accepted)
        for pool in {decision.pool: None for decision in accepted if isinstance(decision, Scale)}:
            resize = _Resize(turn.time_s, pool, _size(turn.before, pool), _size(turn.plan, pool))
            if resize.before != resize.after:
                self._resizes.append(resize)

    def counts(self, points: Sequence[SeriesPoint]) -> ActionCounts:
        """The counts so far; `points` say when the SLA was met."""
        return ActionCounts(
            scalings=self._scalings,
            moves=self._moves,
            reversals=_reversals(self._resizes),
            scale_ins_late=_late_scale_ins(self._resizes, points),
        )


def longest_out_of_sla_s(points: Sequence[SeriesPoint]) -> float:
    """The longest time from the turn before a missed window to the last one missed before a turn that met the SLA."""
    longest_s, start_s, before_s = 0.0, None, 0.0
    for point in points:
        if point.sla_met is False:
            start_s = before_s if start_s is None else start_s
            longest_s = max(longest_s, point.time_s - start_s)
        elif point.sla_met:
            start_s = None
        before_s = point.time_s
    return longest_s


def _size(plan: Plan, pool: PoolName) -> int:
    return plan.pools[pool].size if pool in plan.pools else 0


def _reversals(resizes: Sequence[_Resize]) -> int:
    """A scale-in takes back each scale-out of the last minute that had reached more executors than it leaves."""
    count = 0
    recent: dict[PoolName, list[_Resize]] = {}
    for resize in resizes:
        outs = [each for each in recent.get(resize.pool, []) if resize.time_s - each.time_s <= REVERSAL_S]
        if resize.after > resize.before:
            outs.append(resize)
        kept = [each for each in outs if each.after <= resize.after]
        count += len(outs) - len(kept)
        recent[resize.pool] = kept
    return count


def _late_scale_ins(resizes: Sequence[_Resize], points: Sequence[SeriesPoint]) -> int:
    judged = [point for point in points if point.sla_met is not None]
    count = 0
    for resize in resizes:
        last = bisect_right(judged, resize.time_s, key=lambda point: point.time_s) - 1
        count += resize.after < resize.before and last >= 0 and not judged[last].sla_met
    return count
