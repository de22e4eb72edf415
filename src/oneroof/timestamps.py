"""A moment as people write it in files and options: ISO 8601, taken as UTC where it names no zone."""

from __future__ import annotations

from datetime import UTC, datetime

FIRST = datetime(1, 1, 2, tzinfo=UTC)
LAST = datetime(9999, 1, 1, tzinfo=UTC)


def read(text: str) -> datetime:
    """A date or a date with a time; ValueError if it is neither, or of no year that oneroof keeps."""
    try:
        found = datetime.fromisoformat(text)
        moment = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a date like 2027-01-31 or 2027-01-31T12:00:00Z") from None
    if not FIRST <= moment < LAST:
        raise ValueError(f"{text!r} is not between the years 1 and 9998")
    return moment


def write(moment: datetime) -> str:
    """The same moment in UTC, to the microsecond where it has any."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
