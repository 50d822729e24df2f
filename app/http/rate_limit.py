"""Rate limits: requests per key, and failed logins per address.

Behind a proxy, or within a company, many clients have one address: one that sends wrong keys must not lock out the
others. Guessing is not what this stops, which the length of keys does; it bounds what wrong keys leave behind.
"""

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.domain.errors import RetryLater
from app.http.client_address import network_of

KEYS_MAX = 10_000
"""Most keys whose use is remembered; one that is forgotten begins with a full bucket again."""


class RateLimited(RetryLater):
    """A key is used more often than it may be."""

    code = "rate_limited"
    status = 429
    title = "Too many requests"


class TooManyAtOnce(RetryLater):
    """As many requests of a key are being answered as may be."""

    code = "too_many_at_once"
    status = 429
    title = "Too many requests at once"


@dataclass(slots=True)
class TokenBucket:
    """Holds up to `burst` tokens, and gains `per_second`; each request takes one."""

    per_second: float
    burst: int
    tokens: float
    filled_at: float

    @classmethod
    def full(cls, per_second: float, burst: int, now: float) -> "TokenBucket":
        """Return a full one."""
        return cls(per_second, burst, burst, now)

    def take(self, now: float) -> float:
        """Take a token and return 0, or the seconds until there is one."""
        self.tokens = min(self.burst, self.tokens + (now - self.filled_at) * self.per_second)
        self.filled_at = now
        if self.tokens < 1:
            return (1 - self.tokens) / self.per_second
        self.tokens -= 1
        return 0.0


@dataclass(slots=True)
class _Use:
    bucket: TokenBucket
    at_once: int = 0


class RateLimiter:
    """What keys have left. For the event loop."""

    def __init__(
        self, per_second: float, burst: int, at_once: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow every key `per_second` requests, `burst` of them in one go, and `at_once` at a time."""
        self._per_second = per_second
        self._burst = burst
        self._at_once = at_once
        self._monotonic = monotonic
        self._uses: OrderedDict[str, _Use] = OrderedDict()

    @contextmanager
    def taken(self, key_id: str) -> Iterator[None]:
        """Count a request of the key for the length of the block; RateLimited or TooManyAtOnce if it may not be."""
        use = self._use(key_id)
        if use.at_once >= self._at_once:
            raise TooManyAtOnce(f"{self._at_once} requests of this key are being answered; wait for one of them")
        wait = use.bucket.take(self._monotonic())
        if wait:
            raise RateLimited(
                f"this key may be used {self._per_second:g} times a second, {self._burst} times in one go",
                retry_after=math.ceil(wait),
            )
        use.at_once += 1
        try:
            yield
        finally:
            use.at_once -= 1

    def _use(self, key_id: str) -> _Use:
        use = self._uses.get(key_id)
        if use is None:
            use = self._uses[key_id] = _Use(TokenBucket.full(self._per_second, self._burst, self._monotonic()))
            self._forget_another(key_id)
        self._uses.move_to_end(key_id)
        return use

    def _forget_another(self, than: str) -> None:
        """Forget the key that was used longest ago, of those that are not being used, if there are too many."""
        if len(self._uses) > KEYS_MAX:
            idle = next((key_id for key_id, use in self._uses.items() if not use.at_once and key_id != than), None)
            if idle is not None:
                del self._uses[idle]


WINDOW_SECONDS = 60.0
ADDRESSES_MAX = 10_000


class TooManyFailedLogins(RetryLater):
    """Too many wrong keys came from this address."""

    code = "too_many_failed_logins"
    status = 429
    title = "Too many wrong keys"


class LoginThrottle:
    """The times of the last failures by address. Of many addresses, those that failed last are remembered."""

    def __init__(self, per_minute: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Allow `per_minute` failures an address."""
        self._most = per_minute
        self._monotonic = monotonic
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def note(self, address: str) -> None:
        """Note that a wrong key came from there; TooManyFailedLogins if too many have come, of which this is none."""
        network, now = network_of(address), self._monotonic()
        times = self._times.setdefault(network, deque(maxlen=self._most))
        if len(times) == self._most and (left := times[0] + WINDOW_SECONDS - now) > 0:
            raise TooManyFailedLogins(
                f"{self._most} wrong keys came from this address within a minute; wait, or send a right one",
                retry_after=math.ceil(left),
            )
        times.append(now)
        self._times.move_to_end(network)
        if len(self._times) > ADDRESSES_MAX:
            self._times.popitem(last=False)
