"""The best scale-in (StreamSwitch, Algorithm 1, whose listing the paper leaves out).

All ordered pairs (s, d) are looked at: s leaves and d takes all its substreams. Of the remaining executors' projected
latencies, sorted in descending order, the lexicographically smallest wins, the first pair on ties.

A pair changes only three entries of that order: it takes out L_s and L_d and puts in L_d(λ_s + λ_d). Two orders compare
as their largest different entry does, so those three entries, signed and in descending order, compare like the whole:
N² pairs need no more than N² such comparisons.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from rheostat.policies.streamswitch.capacity import Stress
from rheostat.policies.streamswitch.executor import Executor
from rheostat.policies.streamswitch.strategy import Strategy

_GONE, _CAME = -1, 1


class _Entry(NamedTuple):
    """One changed entry; it sorts with what is better first: a large one gone, a small one come."""

    sign: int
    signed_s: float
    signed_overload: float


def scale_in(executors: Sequence[Executor], sources: Collection[int] | None = None) -> Strategy | None:
    """The best pair, with the source among `sources` if they are given; None when there is no other executor."""
    stress = [executor.stress for executor in executors]
    best: tuple[tuple[_Entry, ...], Executor, Executor] | None = None
    for s, source in enumerate(executors):
        if sources is not None and source.id not in sources:
            continue
        for d, target in enumerate(executors):
            if s == d:
                continue
            together = target.capacity.stress(source.arrival_rate + target.arrival_rate)
            change = _change(stress[s], stress[d], together)
            if best is None or change < best[0]:
                best = change, source, target
    if best is None:
        return None
    _, source, target = best
    return Strategy.of(source.substreams, source.id, target.id, source_leaves=True)


def _change(source: Stress, target: Stress, together: Stress) -> tuple[_Entry, ...]:
    """What a pair does to the descending order of all stresses. `together` is never below `target`."""
    if together == target:
        return (_entry(_GONE, source),)
    if together == source:
        return (_entry(_GONE, target),)
    if together > source:
        gone = (source, target) if source > target else (target, source)
        return _entry(_CAME, together), _entry(_GONE, gone[0]), _entry(_GONE, gone[1])
    return _entry(_GONE, source), _entry(_CAME, together), _entry(_GONE, target)


def _entry(sign: int, stress: Stress) -> _Entry:
    return _Entry(sign, sign * stress[0], sign * stress[1])
