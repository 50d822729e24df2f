import pytest

from app.domain.clock import ManualClock
from app.http import failed_logins
from app.http.failed_logins import FailedLogins, TooManyFailedLogins

HERE, THERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def failures(clock: ManualClock) -> FailedLogins:
    return FailedLogins(3, clock.monotonic)


def fail(failures: FailedLogins, *addresses: str) -> None:
    for address in addresses:
        failures.note(address)


def wait(failures: FailedLogins, address: str) -> int:
    with pytest.raises(TooManyFailedLogins) as caught:
        failures.note(address)
    return int(caught.value.headers["Retry-After"])


def test_an_address_may_be_wrong_again_a_minute_after_the_first_of_its_failures(
    failures: FailedLogins, clock: ManualClock
) -> None:
    for _ in range(3):
        fail(failures, HERE)
        clock.advance(10)
    assert wait(failures, HERE) == 30
    fail(failures, THERE)
    clock.advance(29.5)
    assert wait(failures, HERE) == 1
    clock.advance(0.5)
    fail(failures, HERE)
    assert wait(failures, HERE) == 10


def test_whoever_has_a_network_has_one_address(failures: FailedLogins) -> None:
    fail(failures, "2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3")
    assert wait(failures, "2001:db8::4") == 60
    fail(failures, "2001:db8:0:1::1")
    fail(failures, *["::ffff:192.0.2.1"] * 3)
    assert wait(failures, HERE) == 60
    fail(failures, "fe80::1%eth0", "not an address: at all", "")


def test_memory_is_bounded_and_those_who_failed_last_are_remembered(
    failures: FailedLogins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failed_logins, "ADDRESSES_MAX", 5)
    fail(failures, *[HERE] * 3)
    fail(failures, *(f"198.51.100.{index}" for index in range(4)))
    assert wait(failures, HERE) == 60
    fail(failures, THERE)
    assert len(failures._times) == 5
    fail(failures, HERE)
