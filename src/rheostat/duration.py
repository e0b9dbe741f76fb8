"""Durations: written like "500ms", "2s", "5m" or "1h30m", always seconds inside."""

import math
import re

from rheostat.errors import ConfigError

_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 1e12
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(us|ms|s|m|h|d)\s*")

Duration = str | int | float
"""What callers may pass where a duration is asked for; a bare number is seconds."""


def seconds(duration: Duration, what: str = "duration") -> float:
    """The length of `duration` in seconds; `what` names it in the error message.

    >>> seconds("1m30s")
    90.0
    """
    if isinstance(duration, str):
        return _parse(duration, what)
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not 0 <= duration <= _LONGEST_S:
        raise ConfigError(f"{what} {duration!r} is not a duration: give seconds as a number from 0 to {_LONGEST_S:g}")
    return float(duration)


def positive_seconds(duration: Duration, what: str = "duration") -> float:
    """As `seconds`, but zero is refused."""
    value = seconds(duration, what)
    if value <= 0:
        raise ConfigError(f"{what} {duration!r} must be longer than zero")
    return value


def human(duration_s: float) -> str:
    """`duration_s` in the largest unit that leaves a number of at least one.

    >>> human(0.25), human(90), human(7200)
    ('250ms', '1.5m', '2h')
    """
    if not math.isfinite(duration_s):
        return "forever" if duration_s > 0 else str(duration_s)
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count = duration_s / _UNITS_S[unit]
        if abs(count) >= 0.9995:  # less would be written as 1e+03 of the next smaller unit
            return f"{count:.3g}{unit}" if abs(count) < 1000 else f"{count:.0f}{unit}"
    return f"{duration_s / _UNITS_S['us']:.3g}us" if duration_s else "0s"


def _parse(text: str, what: str) -> float:
    position, total = 0, 0.0
    stripped = text.strip()
    while position < len(stripped):
        part = _PART.match(stripped, position)
        if part is None:
            raise _unreadable(text, what)
        total += float(part[1]) * _UNITS_S[part[2]]
        position = part.end()
    if not stripped or total > _LONGEST_S:
        raise _unreadable(text, what)
    return total


def _unreadable(text: str, what: str) -> ConfigError:
    return ConfigError(f'{what} {text!r} is not a duration: write it like "500ms", "2s", "5m" or "1h30m"')
