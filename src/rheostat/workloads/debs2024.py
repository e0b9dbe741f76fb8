"""DEBS 2024: telemetry of hard drives, the second application of Ra-Stream (§6.1, figure 8).

    drives ──> filter ──good──> detect ──readings──> aggregate (by model) ──> store ──good
                 └─rejected        │                                           └─rejected (late)
                                   └──events──> anomaly (by serial number) ──> alert

`filter` drops what is incomplete, `detect` finds readings that point to trouble. `aggregate` keeps, for each model, the
days of a sliding week; `anomaly` keeps, for each drive, the sectors it has lost so far.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from rheostat.load import Step
from rheostat.load.skew import zipf
from rheostat.spark.query.per_record.record_function import Record, per_record
from rheostat.topology import Operator, Source, Topology
from rheostat.workloads.application import Application
from rheostat.workloads.feeder import MakeRecord
from rheostat.workloads.intake import checked, json_records, require

READING = """date string, serial_number string, model string, failure long,
    smart_5_raw long, smart_187_raw long, smart_194_raw long, smart_197_raw long"""
"""Backblaze's columns. SMART 5: reallocated sectors, 187: uncorrectable errors, 194: °C, 197: pending sectors."""
COLUMNS = tuple(column.split()[0] for column in READING.split(","))
COUNTS = ("smart_5_raw", "smart_187_raw", "smart_197_raw")
WINDOW_DAYS = 7
WEEK = "model string, until string, readings long, failures long, celsius double, late string"
ANOMALY = "serial_number string, model string, date string, kind string, before long, now long"

_FIRST_DAY = date(2013, 1, 1)  # Backblaze has published its data since then
_MOST_SECTORS = 2**48


def topology(folder: Path, substreams: int = 8) -> Topology:
    keyed: dict[str, Any] = {"substreams": substreams}
    return Topology(
        "debs2024",
        [
            Source("drives", reader=json_records(folder, READING)),
            Operator("filter", keep_complete, inputs="drives", outputs={"good": 1, "rejected": 0}),
            Operator("detect", detect, inputs="filter.good", outputs={"readings": 1, "events": 0.1}),
            Operator("aggregate", aggregate, inputs="detect.readings", key="model", selectivity=0.1, **keyed),
            Operator("store", store, inputs="aggregate", outputs={"good": 1, "rejected": 0}),
            Operator("anomaly", find_anomalies, inputs="detect.events", key="serial_number", selectivity=0.5, **keyed),
            Operator("alert", alert, inputs="anomaly"),
        ],
    )


@checked(READING, optional=COUNTS)
def keep_complete(reading: Record) -> Iterator[Record]:
    try:
        day = date.fromisoformat(reading["date"])
    except ValueError:
        day = date.min
    require(day >= _FIRST_DAY, "no usable date")
    require(day <= datetime.now(UTC).date() + timedelta(days=1), "date in the future")
    require(reading["serial_number"] != "" and reading["model"] != "", "unknown drive")
    require(reading["failure"] in (0, 1), "failure is neither 0 nor 1")
    require(0 <= reading["smart_194_raw"] <= 100, "temperature out of range")
    counts = {name: reading[name] or 0 for name in COUNTS}
    require(all(0 <= count < _MOST_SECTORS for count in counts.values()), "sectors out of range")
    yield {name: reading[name] for name in COLUMNS} | counts


@per_record({"readings": READING, "events": READING})
def detect(reading: Record) -> Iterator[tuple[str, Record]]:
    yield "readings", reading
    if reading["failure"] or any(reading[name] for name in COUNTS) or reading["smart_194_raw"] > 50:
        yield "events", reading


def aggregate(readings: DataFrame) -> DataFrame:
    return readings.groupBy("model").transformWithState(SlidingWeek(), WEEK, "Update", "None")


class SlidingWeek(StatefulProcessor):
    """Keeps readings, failures and the sum of temperatures of each day of a model, for as long as a week needs it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.days = handle.getMapState("days", "day string", "readings long, failures long, celsius long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        before = {day: values for (day,), values in self.days.iterator()}
        days, updates = weeks(before, (row.asDict() for row in rows))
        for day in before.keys() - days.keys():
            self.days.removeKey((day,))
        for day in days:
            if days[day] != before.get(day):
                self.days.updateValue((day,), days[day])
        yield from (Row(model=key[0], **update) for update in updates)

    def close(self) -> None:
        pass


Days = dict[str, tuple[int, int, int]]


def weeks(before: Days, readings: Iterable[Record]) -> tuple[Days, list[Record]]:
    """The days after these readings, and the weeks that changed, each named by its last day.

    A reading of a day that no week needs any more is late.
    """
    days, changed, updates = dict(before), set(), []
    oldest = _days_before(max(before), WINDOW_DAYS - 1) if before else ""
    for reading in readings:
        day = reading["date"]
        if day < oldest:
            late = json.dumps(reading, default=str)
            updates.append({"until": None, "readings": None, "failures": None, "celsius": None, "late": late})
            continue
        count, failures, celsius = days.get(day, (0, 0, 0))
        days[day] = (count + 1, failures + reading["failure"], celsius + reading["smart_194_raw"])
        changed.add(day)
    if not changed:
        return days, updates
    newest = max(days)
    ends = {_days_before(day, -n) for day in changed for n in range(WINDOW_DAYS)}
    for end in sorted(end for end in ends if end <= newest):
        inside = [values for day, values in days.items() if _days_before(end, WINDOW_DAYS - 1) <= day <= end]
        count, failures, celsius = (sum(column) for column in zip(*inside, strict=True))
        updates.append(
            {"until": end, "readings": count, "failures": failures, "celsius": celsius / count, "late": None}
        )
    oldest = _days_before(newest, WINDOW_DAYS - 1)
    return {day: values for day, values in days.items() if day >= oldest}, updates


def _days_before(day: str, count: int) -> str:
    return (date.fromisoformat(day) - timedelta(days=count)).isoformat()


@checked("key string, value string", optional=("until", "readings", "failures", "celsius", "late"))
def store(week: Record) -> Iterator[Record]:
    """A document for the database, by its key."""
    require(week["late"] is None, "late")
    yield {
        "key": f"{week['model']}/{week['until']}",
        "value": json.dumps({name: week[name] for name in ("readings", "failures", "celsius")}),
    }


def find_anomalies(events: DataFrame) -> DataFrame:
    return events.groupBy("serial_number").transformWithState(Drive(), ANOMALY, "Update", "None")


class Drive(StatefulProcessor):
    """Remembers the date of the last event of a drive, and its lost sectors."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.last = handle.getValueState("last", "date string, lost long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        last = self.last.get() or ("", 0)
        for event in sorted((row.asDict() for row in rows), key=itemgetter("date")):
            for kind, now in anomalies(last, event):
                yield Row(
                    **{n: event[n] for n in ("serial_number", "model", "date")}, kind=kind, before=last[1], now=now
                )
            if event["date"] >= last[0]:
                last = (event["date"], lost_sectors(event))
        self.last.update(last)

    def close(self) -> None:
        pass


def lost_sectors(event: Record) -> int:
    return sum(int(event[name]) for name in COUNTS)


def anomalies(last: tuple[str, int], event: Record) -> Iterator[tuple[str, int]]:
    """What is wrong with a drive whose last event had this date and so many lost sectors."""
    if event["date"] < last[0]:
        return
    lost = lost_sectors(event)
    if event["failure"]:
        yield "failed", lost
    elif lost > last[1]:
        yield "losing sectors", lost


@per_record("severity string, message string")
def alert(anomaly: Record) -> Iterator[Record]:
    severe = anomaly["kind"] == "failed" or anomaly["now"] >= 10 * max(1, anomaly["before"])
    yield {
        "severity": "critical" if severe else "warning",
        "message": f"{anomaly['date']} {anomaly['model']} {anomaly['serial_number']}: {anomaly['kind']}, "
        f"{anomaly['before']} -> {anomaly['now']} sectors",
    }


def generate(seed: int, drives: int = 2000) -> MakeRecord:
    """Every drive once a day, one day after the other; some lose sectors faster and faster and fail in the end."""
    rng = np.random.default_rng(seed)
    model = rng.choice(12, drives, p=zipf(12, 1.0))
    wear = np.where(rng.random(drives) < 0.05, rng.uniform(0.2, 2.0, drives), 0.0)
    lost, replaced = np.zeros(drives, dtype=int), np.zeros(drives, dtype=int)
    made = 0

    def make(time_s: float) -> Record:
        nonlocal made
        day, drive = divmod(made, drives)
        made += 1
        lost[drive] += rng.poisson(wear[drive] * (1 + lost[drive] / 20)) if wear[drive] else 0
        failure = bool(rng.random() < (0.0001 if lost[drive] < 100 else 0.2))
        record = {
            "date": (date(2024, 1, 1) + timedelta(days=day)).isoformat(),
            "serial_number": f"Z{drive:05}{replaced[drive]:02}",
            "model": f"ST{4 + 2 * int(model[drive])}000",
            "failure": int(failure),
            "smart_5_raw": int(lost[drive]),
            "smart_187_raw": int(lost[drive] // 10),
            "smart_194_raw": int(np.clip(rng.normal(25 + int(model[drive]) % 4 * 4, 3), 10, 70)),
            "smart_197_raw": int(lost[drive] % 8),
        }
        if failure:
            lost[drive], wear[drive] = 0, 0.0
            replaced[drive] += 1
        return record

    return make


def read_csv(path: Path) -> Iterator[dict[str, Any] | str]:
    """Backblaze's daily CSV files, whatever other columns they have."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        for row in csv.DictReader(file):
            try:
                yield {name: _typed(name, row[name]) for name in COLUMNS if row.get(name)}
            except ValueError:
                yield ",".join(str(value) for value in row.values())


def _typed(name: str, text: str) -> str | int:
    return text if name in ("date", "serial_number", "model") else int(text)


APPLICATION = Application(
    topology,
    generate,
    Step([(0, 180), (60, 300), (210, 450), (270, 270), (330, 200)]),  # a tenth of Ra-Stream's rates
    read=read_csv,
)
