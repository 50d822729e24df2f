"""Rate limits per key, and failed logins per address."""

from contextlib import ExitStack

import pytest

from app.http import rate_limit
from app.http.rate_limit import LoginThrottle, RateLimited, RateLimiter, TooManyAtOnce, TooManyFailedLogins
from tests.support.manual_clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def allowed(clock: ManualClock) -> RateLimiter:
    return RateLimiter(per_second=0.5, burst=3, at_once=2, monotonic=clock.monotonic)


def use(allowed: RateLimiter, key_id: str, times: int = 1) -> None:
    for _ in range(times):
        with allowed.taken(key_id):
            pass


def wait(allowed: RateLimiter, key_id: str) -> int:
    with pytest.raises(RateLimited) as caught:
        use(allowed, key_id)
    return int(caught.value.headers["Retry-After"])


def test_a_burst_is_used_up_and_comes_back_with_time(allowed: RateLimiter, clock: ManualClock) -> None:
    use(allowed, "a", 3)
    assert wait(allowed, "a") == 2
    use(allowed, "b", 3)
    clock.advance(1.5)
    assert wait(allowed, "a") == 1
    clock.advance(0.5)
    use(allowed, "a")
    assert wait(allowed, "a") == 2


def test_a_bucket_holds_no_more_than_a_burst(allowed: RateLimiter, clock: ManualClock) -> None:
    clock.advance(1_000_000)
    use(allowed, "a", 3)
    assert wait(allowed, "a") == 2


def test_requests_at_once_are_counted_until_they_are_answered(allowed: RateLimiter, clock: ManualClock) -> None:
    with ExitStack() as held:
        held.enter_context(allowed.taken("a"))
        with pytest.raises(RuntimeError, match="broken"), allowed.taken("a"):
            raise RuntimeError("broken")
        held.enter_context(allowed.taken("a"))
        clock.advance(60)
        with pytest.raises(TooManyAtOnce):
            use(allowed, "a")
        use(allowed, "b")
    use(allowed, "a")


def test_memory_is_bounded_and_no_request_under_way_is_forgotten(
    allowed: RateLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "KEYS_MAX", 4)
    with allowed.taken("busy"), allowed.taken("busy"):
        for index in range(20):
            use(allowed, f"key {index}")
        assert len(allowed._uses) == 4
        with pytest.raises(TooManyAtOnce):
            use(allowed, "busy")


HERE, THERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def failures(clock: ManualClock) -> LoginThrottle:
    return LoginThrottle(3, clock.monotonic)


def fail(failures: LoginThrottle, *addresses: str) -> None:
    for address in addresses:
        failures.note(address)


def login_wait(failures: LoginThrottle, address: str) -> int:
    with pytest.raises(TooManyFailedLogins) as caught:
        failures.note(address)
    return int(caught.value.headers["Retry-After"])


def test_an_address_may_be_wrong_again_a_minute_after_the_first_of_its_failures(
    failures: LoginThrottle, clock: ManualClock
) -> None:
    for _ in range(3):
        fail(failures, HERE)
        clock.advance(10)
    assert login_wait(failures, HERE) == 30
    fail(failures, THERE)
    clock.advance(29.5)
    assert login_wait(failures, HERE) == 1
    clock.advance(0.5)
    fail(failures, HERE)
    assert login_wait(failures, HERE) == 10


def test_a_client_with_a_network_has_one_address(failures: LoginThrottle) -> None:
    fail(failures, "2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3")
    assert login_wait(failures, "2001:db8::4") == 60
    fail(failures, "2001:db8:0:1::1")
    fail(failures, *["::ffff:192.0.2.1"] * 3)
    assert login_wait(failures, HERE) == 60
    fail(failures, "fe80::1%eth0", "not an address: at all", "")


def test_memory_is_bounded_and_those_who_failed_last_are_remembered(
    failures: LoginThrottle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "ADDRESSES_MAX", 5)
    fail(failures, *[HERE] * 3)
    fail(failures, *(f"198.51.100.{index}" for index in range(4)))
    assert login_wait(failures, HERE) == 60
    fail(failures, THERE)
    assert len(failures._times) == 5
    fail(failures, HERE)
