"""Points: a few numbers of every turn, kept much longer than snapshots and read much faster, for curves over time."""

import sqlite3

import msgspec

from rheostat.journal.file import JournalFile
from rheostat.loop.turn import Turn
from rheostat.snapshot import ExecutorPhase, Snapshot


class Point(msgspec.Struct, frozen=True, array_like=True):
    """One turn, or the `turns` between two times: means over them, except where said otherwise.

    `latency_s` is that of the whole topology, `longest_s` the longest of a turn, `standing_s` the mean over the SLA's
    window. `missed` is the share of turns whose window missed an SLA. `active` executors serve, `coming` are requested
    or start, `standby` are warm, `leaving` drain; `planned` should serve. `executor_s` is what all of them, and those
    for sources, cost in executor-seconds, in total. `expected` is the policy's forecast of `input`, per second.
    """

    from_s: float
    until_s: float
    turns: int
    input: float | None
    expected: float | None
    expected_low: float | None
    expected_high: float | None
    latency_s: float | None
    longest_s: float | None
    standing_s: float | None
    missed: float | None
    queued: float | None
    planned: float
    active: float
    coming: float
    standby: float
    leaving: float
    executor_s: float
    paused: float


class PointTotals(msgspec.Struct, frozen=True):
    """All turns of a journal together: of `judged` windows that ended with a turn, so many missed an SLA."""

    turns: int
    first_s: float | None
    last_s: float | None
    judged: int
    missed: int
    executor_s: float


_MEANS = """
SELECT min(time_s), max(time_s), count(*), avg(input), avg(expected), avg(expected_low), avg(expected_high),
    sum(latency_s * completed) / sum(completed) FILTER (WHERE latency_s IS NOT NULL), max(latency_s), max(standing_s),
    avg(missed), avg(queued), avg(planned), avg(active), avg(coming), avg(standby), avg(leaving), total(executor_s),
    avg(paused)
FROM points WHERE id BETWEEN ? AND ?
"""


def write_point(connection: sqlite3.Connection, number: int, run: int, turn: Turn, snapshot: Snapshot) -> None:
    """The point of the turn with the snapshot `number`."""
    measures, expected = turn.measures, turn.expected
    length_s = 1.0 if expected is None else max(expected.until_s - expected.from_s, 1e-9)
    rates = [None, None, None] if expected is None else [expected.events, expected.low, expected.high]
    counted = _by_phase(snapshot)
    missed = [standing.missed for standing in turn.standings if standing.missed is not None]
    queued = [] if measures is None else [it.queued for it in measures.operators.values() if it.queued is not None]
    paid = len(snapshot.executors) + turn.capabilities.reserved
    row = (
        number, run, turn.time_s,
        None if measures is None else measures.external_rate,
        *(None if rate is None else rate / length_s for rate in rates),
        None if measures is None else measures.latency_s,
        0 if snapshot.latency is None else snapshot.latency.count,
        next((standing.latency_s for standing in turn.standings), None),
        max(missed) if missed else None,
        sum(queued) if queued else None,
        turn.plan.total, *counted,
        paid * (0.0 if measures is None else measures.interval_s),
        turn.paused, turn.dry_run,
    )  # fmt: skip
    connection.execute(f"INSERT INTO points VALUES ({', '.join('?' * len(row))})", row)


def read_points(file: JournalFile, from_s: float, until_s: float, most: int) -> list[Point]:
    """The turns between two times as at most `most` points, each of as many turns as the others."""
    first, last = number_at(file, from_s, "ASC"), number_at(file, until_s, "DESC")
    if first is None or last is None or first > last:
        return []
    width = -(-(last - first + 1) // most)
    starts = range(first, last + 1, width)
    rows = [file.rows(_MEANS, (start, min(start + width - 1, last)))[0] for start in starts]
    return [Point(*row) for row in rows if row[2]]


def read_totals(file: JournalFile) -> PointTotals:
    [row] = file.rows(
        "SELECT count(*), min(time_s), max(time_s), count(missed), ifnull(sum(missed), 0), total(executor_s) "
        "FROM points"
    )
    return PointTotals(*row)


def number_at(file: JournalFile, time_s: float, order: str) -> int | None:
    """The first point at or after `time_s`; with order DESC the last one at or before it."""
    compared = ">=" if order == "ASC" else "<="
    rows = file.rows(f"SELECT id FROM points WHERE time_s {compared} ? ORDER BY time_s {order} LIMIT 1", (time_s,))
    return int(rows[0][0]) if rows else None


def _by_phase(snapshot: Snapshot) -> tuple[int, int, int, int]:
    """How many executors serve, come, stand by, and leave."""
    active = coming = standby = leaving = 0
    for executor in snapshot.executors:
        match executor.phase:
            case ExecutorPhase.ACTIVE:
                active += 1
            case ExecutorPhase.REQUESTED | ExecutorPhase.STARTING:
                coming += 1
            case ExecutorPhase.WARM:
                standby += 1
            case ExecutorPhase.LEAVING:
                leaving += 1
    return active, coming, standby, leaving
