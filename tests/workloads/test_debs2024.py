"""Drive telemetry: windows against sums over all readings, anomalies, and Backblaze's files. Without Spark."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.workloads import debs2024
from rheostat.workloads.debs2024 import WINDOW_DAYS, anomalies, keep_complete, read_csv, weeks

GOOD = {
    "date": "2024-02-03", "serial_number": "Z1", "model": "ST8000", "failure": 0,
    "smart_5_raw": 0, "smart_187_raw": 1, "smart_194_raw": 30, "smart_197_raw": 2,
}  # fmt: skip


def reading(day: int, celsius: int = 30, failure: int = 0) -> dict[str, object]:
    return {**GOOD, "date": f"2024-01-{day:02}", "smart_194_raw": celsius, "failure": failure}


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(10, 50), st.integers(0, 1)), min_size=1, max_size=40),
    st.integers(1, 10),
)
def test_weeks_are_the_sums_over_all_readings_of_their_days(steps, every):
    day, readings = 1, []
    for ahead, celsius, failure in steps:
        day = min(31, day + ahead)
        readings.append(reading(day, celsius, failure))
    days, last = {}, {}
    for start in range(0, len(readings), every):
        days, updates = weeks(days, readings[start : start + every])
        last.update({update["until"]: update for update in updates})
    for until, week in last.items():
        end = date.fromisoformat(until)
        inside = [r for r in readings if timedelta(0) <= end - date.fromisoformat(r["date"]) < timedelta(WINDOW_DAYS)]
        assert week["readings"] == len(inside)
        assert week["failures"] == sum(r["failure"] for r in inside)
        assert week["celsius"] == pytest.approx(sum(r["smart_194_raw"] for r in inside) / len(inside))
    assert set(last) >= {r["date"] for r in readings}
    assert len(days) <= WINDOW_DAYS


def test_a_reading_of_a_day_that_no_week_needs_any_more_is_late():
    days, _ = weeks({}, [reading(20)])
    after, (update,) = weeks(days, [reading(13)])
    assert after == days
    assert json.loads(update["late"])["date"] == "2024-01-13"
    _, updates = weeks(days, [reading(14)])
    assert all(update["late"] is None for update in updates)


def test_anomalies_are_failures_and_sectors_lost_since_the_last_event():
    event = {**GOOD, "smart_5_raw": 4}
    assert list(anomalies(("", 0), event)) == [("losing sectors", 7)]
    assert list(anomalies(("2024-02-01", 7), event)) == []
    assert list(anomalies(("2024-02-04", 0), event)) == []
    assert list(anomalies(("2024-02-01", 7), {**event, "failure": 1})) == [("failed", 7)]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"date": "03.02.2024"}, "no usable date"),
        ({"date": "1999-01-01"}, "no usable date"),
        ({"date": (datetime.now(UTC) + timedelta(days=3)).date().isoformat()}, "date in the future"),
        ({"model": ""}, "unknown drive"),
        ({"failure": 2}, "failure is neither 0 nor 1"),
        ({"smart_194_raw": 255}, "temperature out of range"),
        ({"smart_5_raw": -1}, "sectors out of range"),
        ({"serial_number": None}, "no serial_number"),
    ],
)
def test_readings_that_are_incomplete_or_absurd_are_set_aside(changed, reason):
    ((output, rejected),) = keep_complete({**GOOD, **changed})
    assert (output, rejected["reason"]) == ("rejected", reason)


def test_a_drive_without_some_counters_is_complete():
    ((output, kept),) = keep_complete({**GOOD, "smart_187_raw": None})
    assert (output, kept) == ("good", {**GOOD, "smart_187_raw": 0})


def test_generated_drives_are_complete_wear_out_and_fail():
    make = debs2024.generate(1, drives=200)
    made = [make(0.0) for _ in range(200 * 60)]
    assert all(next(keep_complete(record))[0] == "good" for record in made)
    events = [r for r in made if len(list(debs2024.detect(r))) == 2]
    assert 0.01 < len(events) / len(made) < 0.2
    assert sum(r["failure"] for r in made) >= 3
    assert made[0]["date"] == "2024-01-01"
    assert made[-1]["date"] == "2024-02-29"


def test_backblaze_files_are_read_by_the_names_of_their_columns(tmp_path: Path):
    (tmp_path / "2024-02-03.csv").write_text(
        "date,serial_number,model,capacity_bytes,failure,datacenter,smart_5_raw,smart_187_raw,smart_194_raw,smart_197_raw\n"
        "2024-02-03,Z1,ST8000,8001563222016,0,ams5,0,1,30,2\n"
        "2024-02-03,Z2,ST8000,8001563222016,0,ams5,,,29,\n"
        "2024-02-03,Z3,ST8000,8001563222016,0,ams5,many,0,29,0\n"
    )
    first, second, damaged = read_csv(tmp_path / "2024-02-03.csv")
    assert first == GOOD
    assert second == {
        "date": "2024-02-03", "serial_number": "Z2", "model": "ST8000", "failure": 0, "smart_194_raw": 29
    }  # fmt: skip
    assert isinstance(damaged, str)
    (tmp_path / "empty.csv").touch()
    assert list(read_csv(tmp_path / "empty.csv")) == []
