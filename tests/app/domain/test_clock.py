from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.domain.clock import ManualClock, SystemClock, rfc3339


def test_the_system_clock_tells_utc_and_does_not_go_back() -> None:
    clock = SystemClock()
    assert clock.now().utcoffset() == timedelta(0)
    assert clock.monotonic() <= clock.monotonic()


def test_a_manual_clock_moves_when_told_to() -> None:
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
def test_rfc3339_spells_utc_with_milliseconds(moment: datetime, text: str) -> None:
    assert rfc3339(moment) == text


def test_rfc3339_refuses_a_moment_without_a_time_zone() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        rfc3339(datetime(2026, 1, 1))
