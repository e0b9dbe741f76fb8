"""`rheostat explain`: what was decided in a recorded run, why, and what came of it."""

from typing import Annotated

import msgspec
import typer

from rheostat.cli.shared_options import JournalFile, Json
from rheostat.explain import explain, explain_turn
from rheostat.explain.text import run_text, turn_text


def explain_journal(
    journal: JournalFile,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Show the turn at or before this time in full: since the start of the last run (90s, 5m), a date and "
            "time (2026-01-31T12:00:00, UTC without a zone), or seconds since the epoch.",
        ),
    ] = None,
    operator: Annotated[str | None, typer.Option(metavar="NAME", help="Only what concerns this operator.")] = None,
    json: Json = False,
) -> None:
    """Show the decisions of a recorded run, their reasons, numbers and outcomes, and why nothing was done."""
    if at is None:
        runs = explain(journal, operator)
        print(msgspec.json.encode(runs).decode() if json else "\n\n".join(map(run_text, runs)))
    else:
        turn = explain_turn(journal, at, operator)
        print(msgspec.json.encode(turn).decode() if json else turn_text(turn))
