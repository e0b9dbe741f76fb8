"""Explanation: all runs of a journal as timelines, or one turn of it in full."""

from bisect import bisect_right
from pathlib import Path
from typing import Any

import msgspec

from rheostat.errors import ConfigError, JournalError, nearest
from rheostat.explain.moment import absolute_s, range_text
from rheostat.explain.timeline import TimelineEntry, timeline
from rheostat.explain.turns import ExplainedTurn, RunTurns
from rheostat.journal import Journal
from rheostat.journal.records import RunRecord


class ProblemEntry(msgspec.Struct, frozen=True):
    """A problem of one part of the loop since a time after the start of the run; an empty `what` ends it."""

    since_s: float
    place: str
    what: str


class Explanation(msgspec.Struct, frozen=True):
    """One run: what it was for, and what was decided in it. `complete` is false if old snapshots were deleted."""

    run: int
    topology: str
    policy: str
    options: dict[str, Any]
    slas: tuple[str, ...]
    started_s: float
    duration_s: float
    turns: int
    complete: bool
    entries: list[TimelineEntry]
    problems: list[ProblemEntry]


class TurnExplanation(msgspec.Struct, frozen=True):
    """One turn of a run."""

    policy: str
    slas: tuple[str, ...]
    started_s: float
    turn: ExplainedTurn


def explain(journal: Path | str, operator: str | None = None) -> list[Explanation]:
    """The runs in `journal`, the oldest first; with `operator` only the decisions about it."""
    with Journal(journal, read_only=True) as opened:
        runs = _runs(opened, journal)
        _check_operator(operator, runs)
        return [_explained(opened, number, run, operator) for number, run in runs.items()]


def explain_turn(journal: Path | str, at: str, operator: str | None = None) -> TurnExplanation:
    """The turn at or before `at`: an absolute time, or the time since the start of the last run."""
    with Journal(journal, read_only=True) as opened:
        runs = _runs(opened, journal)
        _check_operator(operator, runs)
        times = {number: opened.times(number) for number in runs}
        recorded = {number: found for number, found in times.items() if found}
        if not recorded:
            raise JournalError(f"journal {journal} has no snapshots: --at {at} cannot be shown")
        last = runs[max(recorded)]
        time_s = absolute_s(at, last.started_s)
        number, snapshot = _turn_at(time_s, recorded, at, last.started_s)
        turn = RunTurns(opened, number, runs[number]).at(snapshot)
    shown = turn if operator is None else _only(turn, operator)
    return TurnExplanation(runs[number].policy, _slas(runs[number]), runs[number].started_s, shown)


def _runs(journal: Journal, path: Path | str) -> dict[int, RunRecord]:
    runs = journal.runs()
    if not runs:
        raise JournalError(f"journal {path} is empty: no run was recorded")
    return runs


def _check_operator(operator: str | None, runs: dict[int, RunRecord]) -> None:
    known = {each.name for run in runs.values() for each in run.goal.operators}
    if operator is not None and operator not in known:
        raise ConfigError(f"no operator is called {operator!r}; {nearest(operator, known)}")


def _explained(journal: Journal, number: int, run: RunRecord, operator: str | None) -> Explanation:
    turns = RunTurns(journal, number, run)
    times = journal.times(number)
    return Explanation(
        run=number,
        topology=run.goal.topology,
        policy=run.policy,
        options=run.options,
        slas=_slas(run),
        started_s=run.started_s,
        duration_s=times[-1][1] - run.started_s if times else 0.0,
        turns=len(times),
        complete=_is_complete(journal, number),
        entries=timeline(turns.all(), operator),
        problems=[ProblemEntry(time_s - run.started_s, it.place, it.what) for time_s, it in turns.problems],
    )


def _is_complete(journal: Journal, number: int) -> bool:
    """Whether no snapshot of the run was deleted: the oldest ones go first, and the first of all has the number 1."""
    oldest = next((times[0] for run in journal.runs() if (times := journal.times(run)) and run <= number), None)
    return oldest is None or oldest[0] == 1 or oldest != journal.times(number)[0]


def _slas(run: RunRecord) -> tuple[str, ...]:
    return tuple(map(str, run.goal.goal().slas))


def _turn_at(time_s: float, recorded: dict[int, list[tuple[int, float]]], at: str, started_s: float) -> tuple[int, int]:
    """The run and the snapshot of the last turn at or before `time_s`."""
    turns = [(each_s, number, snapshot) for number, times in recorded.items() for snapshot, each_s in times]
    first_s, last_s = turns[0][0], turns[-1][0]
    period_s = last_s - turns[-2][0] if len(turns) > 1 else 0.0
    if not first_s <= time_s <= last_s + period_s:
        raise ConfigError(f"--at {at} is outside of what was recorded: {range_text(first_s, last_s, started_s)}")
    _, number, snapshot = turns[bisect_right(turns, time_s, key=lambda turn: turn[0]) - 1]
    return number, snapshot


def _only(turn: ExplainedTurn, operator: str) -> ExplainedTurn:
    decisions = tuple(each for each in turn.decisions if operator in each.operators)
    numbers = None if turn.numbers is None else turn.numbers.of([operator])
    return msgspec.structs.replace(turn, decisions=decisions, numbers=numbers)
