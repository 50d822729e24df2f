"""Who sends wrong keys again and again is not asked for a better one for a while: right keys are let in all the same.

Behind a proxy, or within a company, many clients have one address: one that sends wrong keys must not lock out the
others. Guessing is not what this stops, which the length of keys does; it bounds what wrong keys leave behind.
"""

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from app.domain.errors import RetryLater
from app.http.connections import network_of

WINDOW_SECONDS = 60.0
ADDRESSES_MAX = 10_000


class TooManyFailedLogins(RetryLater):
    """Too many wrong keys came from this address."""

    code = "too_many_failed_logins"
    status = 429
    title = "Too many wrong keys"


class FailedLogins:
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
