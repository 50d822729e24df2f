"""Notifications that a fit has changed. The database is the source of truth; a notification only saves latency."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Subscription:
    """One waiter for one fit: remembers a wake that came while it was not waiting."""

    def __init__(self) -> None:
        """Bind to the running event loop, in which it waits."""
        self._loop = asyncio.get_running_loop()
        self._notified = asyncio.Event()

    async def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for a wake since the last call, or the beginning; tell whether one came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._notified.wait()
        notified = self._notified.is_set()
        self._notified.clear()
        return notified

    def notify(self) -> None:
        """End the wait, from any thread."""
        # A closed loop has nobody left to wake.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._notified.set)


class Notifier:
    """Who waits for which fit. Nothing is kept for a fit that nobody watches.

    Watch first, then read, then wait: what is committed after the read wakes the subscription, so nothing is missed.
    """

    def __init__(self) -> None:
        """Start with no watchers."""
        self._lock = threading.Lock()
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is stopping: whoever waits should answer now."""
        return self._closed

    @contextmanager
    def subscribe(self, fit_id: str) -> Iterator[Subscription]:
        """Watch `fit_id` for the length of the block, which runs in an event loop."""
        subscription = Subscription()
        with self._lock:
            self._subscriptions.setdefault(fit_id, set()).add(subscription)
        try:
            yield subscription
        finally:
            with self._lock:
                subscriptions = self._subscriptions[fit_id]
                subscriptions.discard(subscription)
                if not subscriptions:
                    del self._subscriptions[fit_id]

    def notify(self, fit_id: str) -> None:
        """Wake those who subscription `fit_id`. Call it after the commit, from any thread."""
        with self._lock:
            subscriptions = tuple(self._subscriptions.get(fit_id, ()))
        for subscription in subscriptions:
            subscription.notify()

    def close(self) -> None:
        """Wake everybody for good: the server is stopping. Safe in a signal handler's thread, not in the handler."""
        self._closed = True
        with self._lock:
            subscriptions = [subscription for group in self._subscriptions.values() for subscription in group]
        for subscription in subscriptions:
            subscription.notify()
