from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.domain.clock import SystemClock, read_rfc3339, rfc3339
from tests.support.manual_clock import ManualClock


def test_the_system_clock_is_utc_and_does_not_go_back() -> None:
    clock = SystemClock()
    assert clock.now().utcoffset() == timedelta(0)
    assert clock.monotonic() <= clock.monotonic()


def test_a_manual_clock_moves_on_request() -> None:
    clock = ManualClock()
    start = clock.now()
    clock.advance(1.5)
    assert clock.now() - start == timedelta(seconds=1.5)
    assert clock.monotonic() == 1.5


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 31, 12, 0, 0, 250_999, UTC), "2026-01-31T12:00:00.250Z"),
        (datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00.000Z"),
        (datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))), "2025-12-31T23:00:00.000Z"),
    ],
)
def test_rfc3339_formats_utc_with_milliseconds(moment: datetime, text: str) -> None:
    assert rfc3339(moment) == text


def test_rfc3339_refuses_a_moment_without_a_time_zone() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        rfc3339(datetime(2026, 1, 1))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31t12:00:00.25z", datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-01-01T01:00:00+02:00", datetime(2025, 12, 31, 23, tzinfo=UTC)),
    ],
)
def test_a_moment_is_read_with_its_offset(text: str, moment: datetime) -> None:
    assert read_rfc3339(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31 12:00:00Z",
        "2026-13-31T12:00:00Z",
        "2026-01-31T12:00:60Z",
        "2026-01-31T12:00:00+99:00",
        "2026-W05-6T12:00:00Z",
        "9999-12-31T23:59:59-01:00",
        "0001-01-01T00:00:00+01:00",
        "\u0662026-01-31T12:00:00Z",
    ],
)
def test_what_names_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must|out of range|hour|second|month|offset|strictly"):
        read_rfc3339(text)
