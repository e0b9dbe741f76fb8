"""Journal: observations, plans, decisions and outcomes in one file that survives a crash at any point.

Each turn of the loop is one transaction, committed before its plan is applied: a plan that is being applied is always
in the journal. A new plan is on the disk before `write` returns and survives a power failure; observations may still be
in the system's cache and survive a crash of the program.

Everything is JSON, readable with any SQLite tool; snapshots, by far the largest part, are compressed (zlib, level 1: a
third of the size or less, for 50 us a turn and a third of the time it takes to decode them). `keep_snapshots` bounds
the file. Points, a few numbers of each turn, are kept for thirty times as many turns. Plans, decisions, outcomes,
problems and commands are never deleted.
"""

import math
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.decision import AnyDecision, Effect
from rheostat.errors import ConfigError, JournalError
from rheostat.journal.file import MEMORY, JournalFile
from rheostat.journal.points import Point, PointTotals, number_at, read_points, read_totals, write_point
from rheostat.journal.records import (
    Command,
    Newest,
    PendingAction,
    RecordedDecision,
    RecordedObservation,
    Resumed,
    RunRecord,
)
from rheostat.loop.turn import LoopProblem, Ruling, Turn, Verdict
from rheostat.plan import Plan
from rheostat.snapshot import Snapshot
from rheostat.topology import Topology
from rheostat.topology_shape import differences, shape_of

A_DAY = 86_400
"""Snapshots of a day, one a second."""

_PRUNE_EVERY = 64
_POINTS_PER_SNAPSHOT = 30
_PAGE = 512

# Made once, before there are threads: what msgspec knows of a type must not be made by two threads at the same time.
_decode_run = msgspec.json.Decoder(RunRecord).decode
_decode_effect = msgspec.json.Decoder(Effect).decode
_decode_seen = msgspec.json.Decoder(tuple[Snapshot, Capabilities]).decode
_decode_plan = msgspec.json.Decoder(Plan).decode
_decode_decision: Any = msgspec.json.Decoder(AnyDecision).decode


class Journal:
    """The journal at `path`, or one in memory.

    One controller writes it; any number of readers may open it at the same time with `read_only`.
    """

    def __init__(
        self, path: Path | str = MEMORY, *, keep_snapshots: int | None = None, read_only: bool = False
    ) -> None:
        if keep_snapshots is not None and keep_snapshots < 1:
            raise ConfigError(f"keep_snapshots {keep_snapshots!r} must be a whole number >= 1, or None to keep all")
        self._file = JournalFile(path, read_only=read_only)
        self._keep = keep_snapshots
        self._run = 0
        self._last_plan: Plan | None = None

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def resume(self, topology: Topology) -> Resumed | None:
        """Where the last run stopped; None in a new journal. A journal of another topology is refused."""
        runs = self.runs()
        if not runs:
            return None
        last = list(runs.values())[-1]
        if last.fingerprint != topology.fingerprint():
            changes = differences(shape_of(last.goal.goal().topology), shape_of(topology))
            is_same = last.goal.topology == topology.name
            raise JournalError(
                f"journal {self._file.path} is of topology {last.goal.topology!r}, "
                f"{'which has changed since' if is_same else f'not of {topology.name!r}'}: {'; '.join(changes)}: "
                "use another file"
            )
        [(revision, last_action_s)] = self._file.rows(
            "SELECT max(revision), max(time_s) FILTER (WHERE action) FROM plans"
        )
        [(decided,)] = self._file.rows("SELECT action FROM plans WHERE revision = ?", (revision,))
        return Resumed(self._plan(revision), last_action_s, self._pending(), bool(decided))

    def begin(self, run: RunRecord, plan: Plan) -> None:
        """Begin a new run with `plan`."""
        with self._file.transaction(durable=True) as connection:
            self._run = _insert(connection, "runs", body=_encode(run))
            connection.execute(
                "INSERT OR IGNORE INTO plans VALUES (?, ?, 0, ?)", (plan.revision, run.started_s, _encode(plan))
            )

    def adopt(self, time_s: float, plan: Plan) -> None:
        """Record a plan that no policy decided: what runs already, or what a smaller budget allows."""
        with self._file.transaction(durable=True) as connection:
            _insert(connection, "plans", revision=plan.revision, time_s=time_s, action=0, body=_encode(plan))

    def write(self, turn: Turn) -> None:
        """Record one turn of the loop, all or nothing."""
        acted = turn.plan.revision != turn.before.revision
        with self._file.transaction(durable=acted) as connection:
            if turn.snapshot is not None:
                seen = self._write_snapshot(connection, turn, turn.snapshot)
                write_point(connection, seen, self._run, turn, turn.snapshot)
                self._write_decisions(connection, turn, seen)
                self._prune(connection, seen)
            if acted:
                plan = turn.plan
                _insert(connection, "plans", revision=plan.revision, time_s=turn.time_s, action=1, body=_encode(plan))
            self._write_outcomes(connection, turn)
            self._write_problems(connection, turn.time_s, turn.problem_changes)

    def note(self, time_s: float, problems: Iterable[LoopProblem]) -> None:
        """Record problems that came up after the turn was written."""
        with self._file.transaction(durable=False) as connection:
            self._write_problems(connection, time_s, problems)

    def command(self, command: Command) -> None:
        """Record an intervention."""
        with self._file.transaction(durable=True) as connection:
            _insert(connection, "commands", run=self._run, **msgspec.structs.asdict(command))

    def reader(self) -> "Journal":
        """Another one on the same file that only reads, so that long queries do not delay the writer.

        A journal in memory has no other than itself.
        """
        return self if self._file.path == MEMORY else Journal(self._file.path, read_only=True)

    def runs(self) -> dict[int, RunRecord]:
        """All runs by number, the oldest first."""
        rows = self._file.rows("SELECT id, body FROM runs ORDER BY id")
        return {number: _decode_run(body) for number, body in rows}

    def recorded(self, run: int, after: int = 0) -> Iterator[RecordedObservation]:
        """The observations of one run, the oldest first; those after the one with the number `after`."""
        last = after
        while rows := self._file.rows(f"{_SNAPSHOTS} WHERE run = ? AND id > ? ORDER BY id LIMIT {_PAGE}", (run, last)):
            yield from map(self._recorded, rows)
            last = rows[-1][0]

    def times(self, run: int) -> list[tuple[int, float]]:
        """The number and the time of each observation of one run, the oldest first."""
        rows = self._file.rows("SELECT id, time_s FROM snapshots WHERE run = ? ORDER BY id", (run,))
        return [(number, time_s) for number, time_s in rows]

    def last_recorded(self, count: int, before_run: int | None = None, after: int = 0) -> list[RecordedObservation]:
        """The last `count` observations, or the last before a run, the oldest first; those after the number `after`."""
        where, values = ("id > ?", (after, count)) if before_run is None else ("run < ?", (before_run, count))
        rows = self._file.rows(f"{_SNAPSHOTS} WHERE {where} ORDER BY id DESC LIMIT ?", values)
        return [self._recorded(row) for row in reversed(rows)]

    def recorded_at(self, time_s: float, count: int) -> list[RecordedObservation]:
        """The last `count` observations at or before `time_s`, the oldest first; none if that one was deleted."""
        last = number_at(self._file, time_s, "DESC") or 0
        rows = self._file.rows(f"{_SNAPSHOTS} WHERE id BETWEEN ? AND ? ORDER BY id", (last - count + 1, last))
        return [self._recorded(row) for row in rows] if rows and rows[-1][0] == last else []

    def decisions(self, run: int | None = None) -> list[RecordedDecision]:
        """The decisions to change something, with their outcomes, the oldest first."""
        where, values = ("", ()) if run is None else ("WHERE d.run = ?", (run,))
        return [_recorded_decision(*row) for row in self._file.rows(f"{_DECISIONS} {where} ORDER BY d.id", values)]

    def newest_decisions(
        self,
        most: int,
        *,
        before: int | None = None,
        after: int | None = None,
        operator: str = "",
        kind: str = "",
        ruling: str = "",
        from_s: float = -math.inf,
        until_s: float = math.inf,
    ) -> list[RecordedDecision]:
        """The newest first; those between the numbers `after` and `before`, and only what the other arguments name."""
        conditions: list[tuple[str, object]] = [("d.time_s >= ?", from_s), ("d.time_s <= ?", until_s)]
        conditions += [] if before is None else [("d.id < ?", before)]
        conditions += [] if after is None else [("d.id > ?", after)]
        conditions += [("instr('+' || d.subject || '+', ?) > 0", f"+{operator}+")] if operator else []
        conditions += [(f"d.{name} = ?", value) for name, value in (("kind", kind), ("ruling", ruling)) if value]
        where = " AND ".join(condition for condition, _ in conditions)
        values = [value for _, value in conditions]
        rows = self._file.rows(f"{_DECISIONS} WHERE {where} ORDER BY d.id DESC LIMIT ?", [*values, most])
        return [_recorded_decision(*row) for row in rows]

    def newest(self) -> Newest:
        """How far it has grown."""
        [counts] = self._file.rows(
            "SELECT (SELECT ifnull(max(id), 0) FROM decisions), (SELECT count(*) FROM outcomes), "
            "(SELECT ifnull(max(id), 0) FROM runs), (SELECT ifnull(max(id), 0) FROM commands)"
        )
        points = self._file.rows("SELECT id, time_s, paused, dry_run FROM points ORDER BY id DESC LIMIT 1")
        point, time_s, paused, dry_run = points[0] if points else (0, 0.0, 0, 0)
        return Newest(point, time_s, bool(paused), bool(dry_run), *counts)

    def points(self, from_s: float, until_s: float, most: int) -> list[Point]:
        """The turns between two times, both included, as at most `most` points: means over several turns if need be."""
        return read_points(self._file, from_s, until_s, most)

    def totals(self) -> PointTotals:
        """All turns together."""
        return read_totals(self._file)

    def commands(self) -> list[Command]:
        """The interventions, the oldest first."""
        return [Command(*row) for row in self._file.rows("SELECT time_s, kind, what, by FROM commands ORDER BY id")]

    def problems(self) -> list[tuple[float, LoopProblem]]:
        """The problems with the times at which they began, changed or ended, the oldest first."""
        rows = self._file.rows("SELECT time_s, place, what FROM problems ORDER BY id")
        return [(time_s, LoopProblem(place, what)) for time_s, place, what in rows]

    def plans(self) -> list[tuple[float, Plan]]:
        """The plans with the times from which they were in force, the oldest first."""
        rows = self._file.rows("SELECT time_s, body FROM plans ORDER BY revision")
        return [(time_s, _decode_plan(body)) for time_s, body in rows]

    def _write_snapshot(self, connection: sqlite3.Connection, turn: Turn, snapshot: Snapshot) -> int:
        held = [verdict.decision for verdict in turn.ruled(Ruling.HELD)]
        return _insert(
            connection,
            "snapshots",
            run=self._run,
            time_s=snapshot.time_s,
            revision=turn.before.revision,
            settling=_encode(sorted(turn.settling)),
            holds=_encode(held),
            body=zlib.compress(msgspec.json.encode((snapshot, turn.capabilities)), level=1),
        )

    def _write_decisions(self, connection: sqlite3.Connection, turn: Turn, snapshot: int) -> None:
        for verdict in turn.verdicts:
            if verdict.ruling is not Ruling.HELD:
                _insert(connection, "decisions", run=self._run, snapshot=snapshot, **_decision_row(verdict, turn))

    def _write_outcomes(self, connection: sqlite3.Connection, turn: Turn) -> None:
        for outcome in turn.outcomes:
            observed = None if outcome.observed is None else _encode(outcome.observed)
            row = (outcome.revision, turn.time_s, observed, outcome.note)
            connection.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?)", row)

    def _write_problems(self, connection: sqlite3.Connection, time_s: float, problems: Iterable[LoopProblem]) -> None:
        for problem in problems:
            _insert(connection, "problems", run=self._run, time_s=time_s, place=problem.place, what=problem.what)

    def _prune(self, connection: sqlite3.Connection, newest: int) -> None:
        if self._keep is not None and newest % _PRUNE_EVERY == 0:
            connection.execute("DELETE FROM snapshots WHERE id <= ?", (newest - self._keep,))
            connection.execute("DELETE FROM points WHERE id <= ?", (newest - _POINTS_PER_SNAPSHOT * self._keep,))

    def _pending(self) -> tuple[PendingAction, ...]:
        """Accepted decisions without an outcome; of those on one pool the ones of the last turn."""
        rows = self._file.rows(
            "SELECT d.revision, d.pool, d.time_s FROM decisions d LEFT JOIN outcomes o USING (revision) "
            "WHERE d.revision IS NOT NULL AND o.revision IS NULL AND d.time_s = "
            "(SELECT max(time_s) FROM decisions WHERE pool = d.pool AND revision IS NOT NULL) ORDER BY 1"
        )
        return tuple(PendingAction(*row) for row in rows)

    def _recorded(self, row: Sequence[Any]) -> RecordedObservation:
        number, run, revision, settling, holds, body = row
        try:
            snapshot, capabilities = _decode_seen(zlib.decompress(body))
        except (zlib.error, msgspec.DecodeError) as error:
            raise JournalError(f"journal {self._file.path}: snapshot {number} cannot be read: {error}") from error
        unsettled = frozenset(msgspec.json.decode(settling)) if settling != "[]" else frozenset()
        return RecordedObservation(number, run, snapshot, capabilities, self._plan(revision), unsettled, holds)

    def _plan(self, revision: int) -> Plan:
        """Successive observations mostly have the same plan: the last one is kept."""
        if self._last_plan is None or self._last_plan.revision != revision:
            [(body,)] = self._file.rows("SELECT body FROM plans WHERE revision = ?", (revision,))
            self._last_plan = _decode_plan(body)
        return self._last_plan


class NullJournal:
    """A journal that keeps nothing, for simulations that are not resumed."""

    def close(self) -> None: ...

    def resume(self, topology: Topology) -> Resumed | None:
        return None

    def begin(self, run: RunRecord, plan: Plan) -> None: ...

    def adopt(self, time_s: float, plan: Plan) -> None: ...

    def write(self, turn: Turn) -> None: ...

    def note(self, time_s: float, problems: Iterable[LoopProblem]) -> None: ...

    def command(self, command: Command) -> None: ...

    def last_recorded(self, count: int, before_run: int | None = None) -> list[RecordedObservation]:
        return []


_DECISIONS = (
    "SELECT d.id, d.run, d.snapshot, d.time_s, d.body, d.ruling, d.why, d.revision, o.observed, o.note "
    "FROM decisions d LEFT JOIN outcomes o ON o.revision = d.revision"
)
_SNAPSHOTS = "SELECT id, run, revision, settling, holds, body FROM snapshots"


def _encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _insert(connection: sqlite3.Connection, table: str, **values: Any) -> int:
    columns, marks = ", ".join(values), ", ".join("?" * len(values))
    cursor = connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(values.values()))
    return int(cursor.lastrowid or 0)


def _decision_row(verdict: Verdict, turn: Turn) -> dict[str, Any]:
    """`pool` is the one that an accepted decision changed, the last one's where operators were fused or split."""
    decision = verdict.decision
    return {
        "time_s": turn.time_s,
        "subject": decision.subject,
        "pool": None if verdict.revision is None else turn.plan.pools_of(decision)[-1],
        "kind": decision.kind,
        "ruling": verdict.ruling.value,
        "why": verdict.why,
        "revision": verdict.revision,
        "body": _encode(decision),
    }


def _recorded_decision(
    number: int,
    run: int,
    snapshot: int,
    time_s: float,
    body: str,
    ruling: str,
    why: str,
    revision: int | None,
    observed: str | None,
    note: str | None,
) -> RecordedDecision:
    effect = None if observed is None else _decode_effect(observed)
    decision = _decode_decision(body)
    return RecordedDecision(number, run, snapshot, time_s, decision, Ruling(ruling), why, revision, effect, note)
