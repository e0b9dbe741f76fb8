"""Trace: recorded input rates from CSV files, which may have gaps, repeated and unsorted stamps, and zeros."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Literal, get_args

import numpy as np

from rheostat.duration import Duration, human
from rheostat.errors import LoadError, nearest
from rheostat.load.csv_columns import Row, number_in, read_series
from rheostat.load.fields import Array, Period, Rate, Span, checked, series
from rheostat.load.shape import Shape, held
from rheostat.timestamps import EPOCH_FROM, MILLISECONDS_FROM, date_and_time, parse_iso

Interpolate = Literal["step", "linear"]
Unit = Literal["rate", "count"]

_LOG = logging.getLogger("rheostat")
_TIME_COLUMNS = ("timestamp", "time")
_MICROSECONDS_FROM = 1e14


@dataclass(frozen=True, eq=False)
class Trace(Shape):
    """Rates at given times, the first at 0; after `duration_s` the last rate continues.

    Between two times a rate is held ("step") or interpolated ("linear"). To start over at the end instead, use
    `trace.repeated(trace.duration_s)`.
    """

    times_s: Array
    levels: Array
    duration_s: float
    interpolate: Interpolate = "step"

    def __post_init__(self) -> None:
        object.__setattr__(self, "times_s", series(self.times_s, "Trace times_s"))
        object.__setattr__(self, "levels", series(self.levels, "Trace levels"))
        object.__setattr__(self, "duration_s", checked(self.duration_s, Period, "Trace duration_s"))
        _known("interpolate", self.interpolate, get_args(Interpolate))
        if len(self.levels) != len(self.times_s):
            raise LoadError(f"a trace of {len(self.times_s)} times has {len(self.levels)} levels: give as many")
        if self.times_s[0] != 0 or not np.all(np.diff(self.times_s) > 0):
            raise LoadError(f"the times {self.times_s} of a trace must start at 0 and increase")
        if self.duration_s < self.times_s[-1]:
            raise LoadError(f"a trace of {self.duration_s:g} s has a time beyond it: {self.times_s[-1]:g} s")

    @classmethod
    def from_csv(
        cls,
        path: str | PathLike[str],
        *,
        column: str | None = None,
        unit: Unit = "rate",
        interpolate: Interpolate = "step",
        start: Duration = 0,
        length: Duration | None = None,
        time_scale: float = 1.0,
        rate_scale: float = 1.0,
    ) -> "Trace":
        """The trace in a file with a column `timestamp` or `time`, and a column of values.

        Times are ISO 8601 text (UTC without a zone), or seconds, or milliseconds since the epoch: numbers are
        milliseconds if all are 1e11 or more. The values are in `column`, or in the only other column there is.

        The earliest time is time 0. Rows are sorted; values with the same time are averaged; missing steps are
        filled in as `interpolate` says, and a warning is logged that tells how many.

        A value is tuples/s, or with `unit="count"` the tuples of one step, the usual distance between
        stamps. `start` and `length` cut out a part, in the file's own time; then time is multiplied by
        `time_scale` (the rates stay as they are) and the rates by `rate_scale`.
        """
        _known("unit", unit, get_args(Unit))
        columns = read_series(path, _TIME_COLUMNS, column)
        stamps_s = _stamps_s(columns.rows, columns.first)
        times_s, levels = _in_order(stamps_s, [row.amount(columns.second) for row in columns.rows])
        step_s = _usual_step_s(times_s, path)
        if filled := _filled(times_s, step_s, float(stamps_s.min())):
            how = "as the sample before" if interpolate == "step" else "on a line between their neighbours"
            _LOG.warning("%s: %s; filled in %s", path, filled, how)
        if unit == "count":
            levels = levels / step_s
        whole = cls(times_s, levels, times_s[-1] + step_s, interpolate)
        return whole.window(start, length).stretched(time_scale).scaled(rate_scale)

    def window(self, start: Duration, length: Duration | None = None) -> "Trace":
        """The part that begins at `start`, for `length` or to the end."""
        start_s = checked(start, Span, "start")
        if start_s >= self.duration_s:
            raise LoadError(f"start {start!r} is beyond the trace's {human(self.duration_s)}")
        rest_s = self.duration_s - start_s
        length_s = rest_s if length is None else min(rest_s, checked(length, Period, "length"))
        inside = (self.times_s > start_s) & (self.times_s < start_s + length_s)
        times_s = np.concatenate(([start_s], self.times_s[inside], [start_s + length_s]))
        if self.interpolate == "step" or length_s == rest_s:
            times_s = times_s[:-1]  # a line needs a point to end at, a step does not
        return replace(self, times_s=times_s - start_s, levels=self.rates(times_s), duration_s=length_s)

    def stretched(self, factor: float) -> "Trace":
        """The same rates in `factor` times the time."""
        if checked(factor, Rate, "time_scale") == 0:
            raise LoadError("time_scale 0 leaves no time: give a number > 0")
        return replace(self, times_s=self.times_s * factor, duration_s=self.duration_s * factor)

    def scaled(self, factor: float) -> "Trace":
        """`factor` times the rates in the same time."""
        return replace(self, levels=self.levels * checked(factor, Rate, "rate_scale"))

    def to_duration(self, duration: Duration) -> "Trace":
        """Stretched or squeezed to last `duration`."""
        return self.stretched(checked(duration, Period, "duration") / self.duration_s)

    def to_mean(self, rate: float) -> "Trace":
        """Scaled so that the mean over its duration is `rate`."""
        return self._scaled_from(self.mean(self.duration_s), rate, "mean")

    def to_peak(self, rate: float) -> "Trace":
        """Scaled so that the highest rate is `rate`."""
        return self._scaled_from(float(self.levels.max()), rate, "peak")

    def breakpoints(self, until_s: float) -> Array:
        return self.times_s[self.times_s < until_s]

    def _rates(self, times_s: Array) -> Array:
        if self.interpolate == "linear":
            return np.asarray(np.interp(times_s, self.times_s, self.levels))
        return held(self.times_s, self.levels, times_s)

    def _scaled_from(self, now: float, wanted: float, what: str) -> "Trace":
        if now == 0:
            raise LoadError(f"a trace of zeros cannot be scaled to the {what} {wanted!r}")
        return self.scaled(checked(wanted, Rate, what) / now)

    def _key(self) -> tuple[bytes, bytes, float, str]:
        return self.times_s.tobytes(), self.levels.tobytes(), self.duration_s, self.interpolate

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _known(what: str, word: object, words: tuple[str, ...]) -> None:
    if word not in words:
        raise LoadError(f"{what} {word!r} is unknown: {nearest(str(word), words)}")


def _in_order(stamps_s: Array, values: Sequence[float]) -> tuple[Array, Array]:
    times_s, position, count = np.unique(stamps_s, return_inverse=True, return_counts=True)
    return times_s - times_s[0], np.bincount(position, weights=values) / count


def _usual_step_s(times_s: Array, path: str | PathLike[str]) -> float:
    if len(times_s) < 2:
        raise LoadError(f"{path} has a single stamp: a trace needs two, to know how long a step lasts")
    return float(np.median(np.diff(times_s)))


def _filled(times_s: Array, step_s: float, start_s: float) -> str | None:
    """How many samples are missing, and where the longest gap is; None without gaps."""
    missing = np.maximum(0.0, np.rint(np.diff(times_s) / step_s) - 1)
    if not missing.any():
        return None
    longest = int(missing.argmax())
    after_s = start_s + float(times_s[longest])
    where = date_and_time(after_s) if after_s >= EPOCH_FROM else f"{after_s:g} s"
    gaps = int(np.count_nonzero(missing))
    total = int(missing.sum())
    found = "1 sample is missing" if total == 1 else f"{total:,} samples are missing"
    if gaps == 1:
        return f"{found} after {where}"
    return f"{found} in {gaps} gaps, at most {missing[longest]:.0f} at once after {where}"


def _stamps_s(rows: Sequence[Row], column: str) -> Array:
    """The times as written, in seconds. All are written in the way of the first."""
    read = _iso_s if number_in(rows[0].first) is None else _number
    stamps = np.array([read(row, column) for row in rows])
    first = float(stamps.min())
    if first >= _MICROSECONDS_FROM:
        raise rows[0].wrong(column, rows[0].first, "in seconds or milliseconds since the epoch: it is too large")
    return stamps / 1000 if first >= MILLISECONDS_FROM else stamps


def _number(row: Row, column: str) -> float:
    number = number_in(row.first)
    if number is None:
        raise row.wrong(column, row.first, "a finite number of seconds or milliseconds, as in the first row")
    return number


def _iso_s(row: Row, column: str) -> float:
    stamp_s = parse_iso(row.first)
    if stamp_s is None:
        raise row.wrong(column, row.first, "a date and time like 2015-02-26 21:42:53, or a finite number of seconds")
    return stamp_s
