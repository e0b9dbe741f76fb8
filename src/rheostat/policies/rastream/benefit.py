"""Benefit: whether a new placement is worth the moves that it takes."""

from typing import NamedTuple

import numpy as np

from rheostat.describe import executors
from rheostat.duration import human
from rheostat.placement import Placement
from rheostat.placement.model.draft_scheme import DraftScheme
from rheostat.policies.rastream.options import RaStreamOptions


class Judgement(NamedTuple):
    """Whether to move, and why (not)."""

    go: bool
    why: str


def judge(now: Placement, then: Placement, options: RaStreamOptions) -> Judgement:
    """Relief of overloaded nodes counts most, then fewer nodes, then less communication.

    Relief must be more than the margin of a node: a new placement changes which executor gets which records, and every
    small imbalance would lead to another one. Saved node time over the horizon is compared with the time for which
    moving executors pause; saved communication with the time that records wait for them.
    """
    moved = moves(now, then)
    if not len(moved):
        return Judgement(False, "no executor would move")
    before, after = _beyond(now), _beyond(then)
    if before - after > options.margin:
        return Judgement(True, _relief(now, then, 1 - after / before))
    if after > before:
        return Judgement(False, "it would load overloaded nodes more")
    saved = now.nodes_used - then.nodes_used
    if saved < 0:
        return Judgement(False, f"{-saved} more nodes would relieve no overloaded node")
    if saved > 0:
        return _fewer_nodes(saved, len(moved), then.nodes_used, options)
    return _less_communication(now, then, moved, options)


def moves(now: Placement, then: Placement) -> np.ndarray:
    """The tasks that change node or process."""
    return np.flatnonzero((now.scheme != then.scheme) | (now.processes != then.processes))


def _fewer_nodes(saved: int, moved: int, left: int, options: RaStreamOptions) -> Judgement:
    gain_s, cost_s = saved * options.horizon_s, moved * options.pause_s
    what = f"{left} nodes instead of {left + saved}"
    if gain_s <= cost_s:
        return Judgement(
            False, f"{what} would save {human(gain_s)} of node time, but pause executors for {human(cost_s)}"
        )
    return Judgement(True, what)


def _less_communication(now: Placement, then: Placement, moved: np.ndarray, options: RaStreamOptions) -> Judgement:
    before, after = now.ways.cost(options.costs), then.ways.cost(options.costs)
    share = 1 - after / before if before > 0 else 0.0
    what = f"{share:.0%} less communication"
    if share <= options.margin:
        return Judgement(False, f"{what} is within the margin of {options.margin:.0%}")
    gain, cost = (before - after) * options.horizon_s, _waiting(now, moved, options.pause_s)
    if gain <= cost:
        return Judgement(False, f"{what} would not outweigh moving {executors(len(moved))}")
    return Judgement(True, what)


def _waiting(now: Placement, moved: np.ndarray, pause_s: float) -> float:
    """Seconds that records wait in all while their executors pause."""
    graph = now.problem.graph
    concerned = np.isin(graph.ends, moved).any(axis=1)
    return float(graph.rates[concerned].sum()) * pause_s * pause_s / 2


def _relief(now: Placement, then: Placement, share: float) -> str:
    fewer = _overfull(now) - _overfull(then)
    if fewer > 0:
        return f"{fewer} overloaded node{'s' * (fewer > 1)} fewer"
    return f"{share:.0%} less load on overloaded nodes"


def _overfull(placement: Placement) -> int:
    draft = DraftScheme(placement.problem, placement.scheme)
    return sum(draft.overfull(node) for node in draft.in_use)


def _beyond(placement: Placement) -> float:
    """How far beyond its limits each overloaded node is, summed up, in nodes."""
    draft, over = DraftScheme(placement.problem, placement.scheme), placement.problem.limits.over
    full = (node for node in draft.in_use if draft.overfull(node))
    return sum(draft.fullness(node) / over - 1 for node in full)
