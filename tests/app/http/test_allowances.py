from contextlib import ExitStack

import pytest

from app.domain.clock import ManualClock
from app.http import allowances
from app.http.allowances import Allowances, RateLimited, TooManyAtOnce


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def allowed(clock: ManualClock) -> Allowances:
    return Allowances(per_second=0.5, burst=3, at_once=2, monotonic=clock.monotonic)


def use(allowed: Allowances, key_id: str, times: int = 1) -> None:
    for _ in range(times):
        with allowed.taken(key_id):
            pass


def wait(allowed: Allowances, key_id: str) -> int:
    with pytest.raises(RateLimited) as caught:
        use(allowed, key_id)
    return int(caught.value.headers["Retry-After"])


def test_a_burst_is_used_up_and_comes_back_with_time(allowed: Allowances, clock: ManualClock) -> None:
    use(allowed, "a", 3)
    assert wait(allowed, "a") == 2
    use(allowed, "b", 3)
    clock.advance(1.5)
    assert wait(allowed, "a") == 1
    clock.advance(0.5)
    use(allowed, "a")
    assert wait(allowed, "a") == 2


def test_a_bucket_holds_no_more_than_a_burst(allowed: Allowances, clock: ManualClock) -> None:
    clock.advance(1_000_000)
    use(allowed, "a", 3)
    assert wait(allowed, "a") == 2


def test_requests_at_once_are_counted_until_they_are_answered(allowed: Allowances, clock: ManualClock) -> None:
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
    allowed: Allowances, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowances, "KEYS_MAX", 4)
    with allowed.taken("busy"), allowed.taken("busy"):
        for index in range(20):
            use(allowed, f"key {index}")
        assert len(allowed._uses) == 4
        with pytest.raises(TooManyAtOnce):
            use(allowed, "busy")
