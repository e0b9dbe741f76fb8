"""Moments of a run: times as a user gives them, and as they are shown."""

import math

from rheostat.duration import seconds
from rheostat.errors import ConfigError
from rheostat.timestamps import EPOCH_FROM, MILLISECONDS_FROM, date_and_time, parse_iso

_TENTHS = 10


def absolute_s(text: str, started_s: float) -> float:
    """The time that `text` gives, on the clock of a run that began at `started_s`.

    A duration ("90s", "5m") or a small number is since the start; a large number is seconds or milliseconds since the
    epoch; everything else is a date and time of ISO 8601, in UTC unless it has a zone.
    """
    number = _number(text)
    if number is not None:
        if number < EPOCH_FROM:
            return started_s + number
        return number / 1000 if number >= MILLISECONDS_FROM else number
    try:
        return started_s + seconds(text, "--at")
    except ConfigError:
        moment_s = parse_iso(text)
    if moment_s is None:
        raise ConfigError(
            f"--at {text!r} is not a time: give the time since the start of the run (90s, 5m), a date and time "
            "(2026-01-31T12:00:00), or seconds since the epoch"
        )
    if started_s < EPOCH_FROM:
        raise ConfigError(f"--at {text!r}: a simulated run has no date; give the time since its start, e.g. 90s")
    return moment_s


def since_start(duration_s: float) -> str:
    """A time since the start of a run, exact to a tenth of a second: "1m30s". `absolute_s` reads it again.

    It is rounded up, so that the turn at that time is still at or before it.
    """
    tenths = max(0, math.ceil(duration_s * _TENTHS - 1e-6))
    minutes, rest = divmod(tenths, 60 * _TENTHS)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    parts.append(f"{rest / _TENTHS:g}s" if rest or not (hours or minutes) else "")
    return "".join(parts)


def clock_text(time_s: float) -> str:
    """ " (2026-01-31 12:00:00 UTC)", or nothing for a simulator's clock."""
    return f" ({date_and_time(time_s)} UTC)" if time_s >= EPOCH_FROM else ""


def range_text(first_s: float, last_s: float, started_s: float) -> str:
    """The times between which turns were recorded."""
    if first_s >= EPOCH_FROM:
        dates = f"{date_and_time(first_s)} to {date_and_time(last_s)} UTC"
        began = f"; the last run began {date_and_time(started_s)}" if started_s > first_s else ""
        return f"{dates}, which is {since_start(last_s - max(first_s, started_s))} long{began}"
    return f"{since_start(first_s - started_s)} to {since_start(last_s - started_s)} after the start"


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
