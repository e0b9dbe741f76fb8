"""Decision view: decisions as the page lists them, with equal refusals of successive turns in one entry."""

from collections.abc import Iterable
from itertools import chain

import msgspec

from rheostat.decision import Effect, Scale
from rheostat.describe import describe
from rheostat.explain.timeline import without_numbers
from rheostat.journal.records import RecordedDecision
from rheostat.loop.turn import Ruling


class DecisionView(msgspec.Struct, frozen=True):
    """A decision, or one that was refused in several `turns` up to `time_s`, the first time at `since_s`.

    `id` is its number in the journal. `executors` is what a pool was scaled to.
    """

    id: int
    time_s: float
    since_s: float
    turns: int
    subject: str
    kind: str
    what: str
    reason: str
    ruling: Ruling
    why: str
    by: str | None = None
    executors: int | None = None
    revision: int | None = None
    predicted: Effect | None = None
    observed: Effect | None = None
    outcome: str = ""


def decision_views(newest_first: Iterable[RecordedDecision], before: Iterable[DecisionView] = ()) -> list[DecisionView]:
    """The entries of successive decisions, the newest first; `before` are the entries of what came before them."""
    views: list[DecisionView] = []
    last: dict[str, int] = {}
    for view in chain(map(_view, newest_first), before):
        place = last.get(view.subject)
        if place is not None and _is_same(view, views[place]):
            turns = views[place].turns + view.turns
            views[place] = msgspec.structs.replace(views[place], since_s=view.since_s, turns=turns)
        else:
            last[view.subject] = len(views)
            views.append(view)
    return views


def _view(one: RecordedDecision) -> DecisionView:
    decision = one.decision
    return DecisionView(
        id=one.id,
        time_s=one.time_s,
        since_s=one.time_s,
        turns=1,
        subject=decision.subject,
        kind=decision.kind,
        what=describe(decision),
        reason=decision.reason,
        ruling=one.ruling,
        why=one.why,
        by=decision.by,
        executors=decision.executors if isinstance(decision, Scale) else None,
        revision=one.revision,
        predicted=decision.predicted,
        observed=one.observed,
        outcome=one.note or "",
    )


def _is_same(older: DecisionView, newer: DecisionView) -> bool:
    """Whether both say the same, apart from numbers. What was carried out is never one with another."""
    if Ruling.ACCEPTED in (older.ruling, newer.ruling):
        return False
    return _said(older) == _said(newer)


def _said(view: DecisionView) -> tuple[str, ...]:
    return view.kind, view.what, view.ruling, without_numbers(view.why), without_numbers(view.reason)
