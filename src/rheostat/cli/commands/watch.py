"""`rheostat watch`: the live view of a run that another process records."""

import math
import time
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console

from rheostat.cli.live_view import LiveView, show_live, watch
from rheostat.cli.run_history import RunHistory
from rheostat.cli.shared_options import JournalFile
from rheostat.errors import JournalError
from rheostat.journal import Journal
from rheostat.journal.records import RecordedDecision
from rheostat.loop.turn import Turn, Verdict
from rheostat.measure.measurer import Measurer

_SHOWN_TURNS = 600
_POLL_S = 1.0


def watch_journal(
    journal: JournalFile,
    once: Annotated[bool, typer.Option("--once", help="Show what there is now, and end.")] = False,
) -> None:
    """Follow a run in the terminal by its journal. Without a terminal it prints plain lines. Ctrl-C ends it."""
    console, history = Console(), RunHistory()
    with Journal(journal, read_only=True) as opened:
        turns = JournalTurns(opened)
        run = list(opened.runs().values())
        if not run:
            raise JournalError(f"journal {journal} is empty: no run was recorded")
        goal = run[-1].goal.goal()
        listeners = watch(history, goal.end_to_end, console)
        view = LiveView(goal.topology.name, history, goal.end_to_end)
        with show_live(view, console):
            while True:
                for turn in turns.new():
                    for listener in listeners:
                        listener(turn)
                if once:
                    break
                time.sleep(_POLL_S)


class JournalTurns:
    """The turns that a journal has recorded, as its controller had them; at first only the last ones."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._last, self._run = 0, 0
        self._measurer: Measurer | None = None

    def new(self) -> Iterator[Turn]:
        """Those that were recorded since the last call."""
        recorded = self._journal.last_recorded(_SHOWN_TURNS, after=self._last)
        decided: dict[int, list[RecordedDecision]] = {}
        since_s = recorded[0].snapshot.time_s if recorded else math.inf
        for decision in self._journal.newest_decisions(10 * _SHOWN_TURNS, from_s=since_s):
            decided.setdefault(decision.snapshot, []).append(decision)
        for seen in recorded:
            if self._measurer is None or seen.run != self._run:
                record = self._journal.runs()[seen.run]
                self._measurer = Measurer(record.goal.goal().topology, str(record.options.get("smoothing", "none")))
                self._run = seen.run
            self._last = seen.id
            found = reversed(decided.get(seen.id, []))
            yield Turn(
                time_s=seen.snapshot.time_s,
                before=seen.plan,
                plan=seen.plan,
                snapshot=seen.snapshot,
                measures=self._measurer.update(seen.snapshot, seen.plan),
                capabilities=seen.capabilities,
                settling=seen.settling,
                verdicts=tuple(Verdict(each.decision, each.ruling, each.why, each.revision) for each in found),
            )
