"""Who sends wrong keys again and again is not listened to for a while."""

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from app.connections import network_of
from app.domain.errors import RetryLater

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

    def check(self, address: str) -> None:
        """TooManyFailedLogins, whatever is sent with it, if a request from there need not be looked at."""
        times = self._times.get(network_of(address))
        if times is None or len(times) < self._most:
            return
        left = times[0] + WINDOW_SECONDS - self._monotonic()
        if left > 0:
            raise TooManyFailedLogins(
                f"{self._most} wrong keys came from this address within a minute; wait", retry_after=math.ceil(left)
            )

    def note(self, address: str) -> None:
        """Note that a wrong key came from there."""
        network = network_of(address)
        self._times.setdefault(network, deque(maxlen=self._most)).append(self._monotonic())
        self._times.move_to_end(network)
        if len(self._times) > ADDRESSES_MAX:
            self._times.popitem(last=False)
