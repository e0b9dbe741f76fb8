"""Timestamps: points in time as ISO 8601 text or as a number since the epoch, always seconds since the epoch inside."""

from datetime import UTC, datetime

MILLISECONDS_FROM = 1e11
"""Numbers from here on are milliseconds: as seconds they would be beyond the year 5000."""

EPOCH_FROM = 1e9
"""Times below are on a simulator's clock, which starts at 0; those above are dates after 2001."""


def parse_iso(text: str) -> float | None:
    """Seconds since the epoch, or None if `text` is no ISO 8601 date and time. Without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def date_and_time(time_s: float) -> str:
    """ "2026-01-31 12:00:00", in UTC."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
