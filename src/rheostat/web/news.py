"""News: what the page asks for: the run, its curves and decisions, and after that what has changed since."""

import math
import time

import msgspec

from rheostat.errors import ConfigError, RheostatError
from rheostat.journal import Journal
from rheostat.journal.points import Point
from rheostat.journal.records import Newest
from rheostat.web.decision_view import DecisionView, decision_views
from rheostat.web.run_view import RunView, run_view
from rheostat.web.state_view import OperatorDetail, StateReader, StateView
from rheostat.web.steering import Steering

MOST_POINTS = 2_000
_PAGE_DECISIONS = 500
_MOST_ACTIONS = 2_000
_NEW_POINTS = 60
_NEW_DECISIONS = 30
_QUIET_S = 15.0
"""A journal that another process writes counts as finished when it has not grown for so long."""


class Controls(msgspec.Struct, frozen=True):
    """What the loop does, and whether this page may change it."""

    paused: bool
    dry_run: bool
    finished: bool
    steerable: bool


class Opening(msgspec.Struct, frozen=True):
    """What a page needs at first; without a `run` nothing has begun yet."""

    run: RunView | None
    controls: Controls


class RunChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is new. `goals` says that somebody intervened. `decisions` are the newest, if any of them changed."""

    state: StateView | None
    points: list[Point]
    controls: Controls
    decisions: list[DecisionView] | None = None
    goals: bool = False


class DecisionPage(msgspec.Struct, frozen=True):
    """Some decisions, the newest first; those before the number `next` are on the next page, if there is one."""

    entries: list[DecisionView]
    next: int | None


class News:
    """Reads `journal`, which may grow meanwhile, for all pages."""

    def __init__(self, journal: Journal, *, recorded: bool) -> None:
        self._journal, self._states = journal, StateReader(journal)
        self._told: Newest | None = None
        self._told_controls: Controls | None = None
        self._decisions: list[DecisionView] = []
        self._recorded, self._grown_at_s = recorded, -math.inf
        self._seen: Newest | None = None
        self.steering: Steering | None = None
        self.finished = recorded

    def opening(self) -> Opening:
        return Opening(run_view(self._journal), self.controls())

    def timeline(self, from_s: float, until_s: float, most: int) -> list[Point]:
        if not 1 <= most <= MOST_POINTS:
            raise ConfigError(f"points {most!r} must be a number from 1 to {MOST_POINTS}")
        return self._journal.points(from_s, until_s, most)

    def decisions(
        self, *, before: int | None = None, operator: str = "", kind: str = "", ruling: str = ""
    ) -> DecisionPage:
        """The newest first; those before the one with the number `before`."""
        found = self._journal.newest_decisions(
            _PAGE_DECISIONS, before=before, operator=operator, kind=kind, ruling=ruling
        )
        return DecisionPage(decision_views(found), found[-1].id if len(found) == _PAGE_DECISIONS else None)

    def actions(self, from_s: float, until_s: float) -> list[DecisionView]:
        """What was carried out between two times, the newest first."""
        found = self._journal.newest_decisions(_MOST_ACTIONS, ruling="accepted", from_s=from_s, until_s=until_s)
        return decision_views(found)

    def state(self, time_s: float | None) -> StateView | None:
        return self._states.latest() if time_s is None else self._states.at(time_s)

    def operator(self, name: str, time_s: float | None) -> OperatorDetail | None:
        return self._states.operator(name, time_s)

    def controls(self) -> Controls:
        steering, newest = None if self.finished else self.steering, self._journal.newest()
        paused, dry_run = (newest.paused, newest.dry_run) if steering is None else (steering.paused, steering.dry_run)
        return Controls(paused, dry_run, self.finished, steering is not None)

    def change(self) -> bytes | None:
        """What is new since the last call, as a message; None if nothing is, or if it cannot be read now."""
        try:
            return self._change()
        except RheostatError:
            return None

    def _change(self) -> bytes | None:
        newest = self._journal.newest()
        self._watch_growth(newest)
        controls, told = self.controls(), self._told
        if (newest, controls) == (told, self._told_controls):
            return None
        since_s = newest.time_s if told is None else math.nextafter(told.time_s, math.inf)
        decisions = None
        if told is None or (newest.decision, newest.outcomes) != (told.decision, told.outcomes):
            decisions = self._newest_decisions(
                None if told is None or newest.outcomes != told.outcomes else told.decision
            )
        self._told, self._told_controls = newest, controls
        change = RunChange(
            state=self._states.latest(),
            points=self._journal.points(since_s, newest.time_s, _NEW_POINTS),
            controls=controls,
            decisions=decisions,
            goals=told is not None and (newest.run, newest.command) != (told.run, told.command),
        )
        return msgspec.json.encode(change)

    def _newest_decisions(self, after: int | None) -> list[DecisionView]:
        """Those after the number `after` with what is known of those before it; all from the journal if it is None."""
        found = self._journal.newest_decisions(_PAGE_DECISIONS, after=after)
        self._decisions = decision_views(found, () if after is None else self._decisions)[:_NEW_DECISIONS]
        return self._decisions

    def _watch_growth(self, newest: Newest) -> None:
        """Whether a journal that another process writes still grows."""
        if not self._recorded:
            return
        if self._seen is not None and newest != self._seen:
            self._grown_at_s = time.monotonic()
        self._seen = newest
        self.finished = time.monotonic() - self._grown_at_s > _QUIET_S
