"""The one way to ask for the time, so that a test can hold it still."""

import re
import time
from datetime import UTC, datetime
from typing import Protocol

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


class Clock(Protocol):
    """Wall time for what is written down, monotonic time for what is measured."""

    def now(self) -> datetime:
        """Return the wall time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary origin; never goes back."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the machine's wall time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic time in seconds."""
        return time.monotonic()


def read_rfc3339(text: str) -> datetime:
    """Return the moment that a text such as `2026-01-31T12:00:00.250+01:00` names, in UTC (RFC 3339).

    ValueError if it names none, or one without an offset.
    """
    if _RFC3339.fullmatch(text) is None:
        raise ValueError("must be a moment as 2026-01-31T12:00:00Z, with its offset from UTC")
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must lie within the years 1 to 9999") from error


def rfc3339(moment: datetime) -> str:
    """Format an aware `moment` in UTC with milliseconds: `2026-01-31T12:00:00.250Z` (RFC 3339)."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; pass an aware datetime")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def add_time(body: str, moment: datetime) -> str:
    """Return `body`, the text of a JSON object with members, with `at` (RFC 3339, UTC) as a last member."""
    return f'{body.rstrip()[:-1]},"at":"{rfc3339(moment)}"}}'
