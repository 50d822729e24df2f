"""Notifications that a fit has changed. The database is the source of truth; a notification only saves latency."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Subscription:
    """One waiter for one fit: remembers a notification that came while it was not waiting."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._notified = asyncio.Event()

    async def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for a notification since the last call; return whether one came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._notified.wait()
        notified = self._notified.is_set()
        self._notified.clear()
        return notified

    def notify(self) -> None:
        """End the wait, from any thread."""
        # A closed event loop has no waiters.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._notified.set)


class Notifier:
    """Subscriptions by fit. Nothing is kept for a fit without subscriptions.

    Subscribe first, then read, then wait: a commit after the read notifies the subscription, so nothing is missed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is stopping: waiters should respond now."""
        return self._closed

    @contextmanager
    def subscribe(self, fit_id: str) -> Iterator[Subscription]:
        """Subscribe to `fit_id` for the length of the block, which runs in an event loop."""
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
        """Notify the subscriptions of `fit_id`. Call it after the commit, from any thread."""
        with self._lock:
            subscriptions = tuple(self._subscriptions.get(fit_id, ()))
        for subscription in subscriptions:
            subscription.notify()

    def notify_all(self) -> None:
        """Notify all subscriptions: notifications may have been missed. Call it from any thread."""
        with self._lock:
            subscriptions = [subscription for group in self._subscriptions.values() for subscription in group]
        for subscription in subscriptions:
            subscription.notify()

    def close(self) -> None:
        """Notify all subscriptions for good: the server is stopping. Call it in any thread, but not in a signal
        handler.
        """
        self._closed = True
        self.notify_all()
