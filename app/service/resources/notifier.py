"""Wakes: tell those who watch a fit that something new is stored. The database is the truth; a wake saves latency."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Watch:
    """One waiter for one fit: remembers a wake that came while it was not waiting."""

    def __init__(self) -> None:
        """Bind to the running event loop, in which it waits."""
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    async def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds for a wake since the last call, or the beginning; tell whether one came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._woken.wait()
        woken = self._woken.is_set()
        self._woken.clear()
        return woken

    def wake(self) -> None:
        """End the wait, from any thread."""
        # A closed loop has nobody left to wake.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._woken.set)


class Wakes:
    """Who waits for which fit. Nothing is kept for a fit that nobody watches.

    Watch first, then read, then wait: what is committed after the read wakes the watch, so nothing is missed.
    """

    def __init__(self) -> None:
        """Start with no watchers."""
        self._lock = threading.Lock()
        self._watches: dict[str, set[Watch]] = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the server is stopping: whoever waits should answer now."""
        return self._closed

    @contextmanager
    def watch(self, fit_id: str) -> Iterator[Watch]:
        """Watch `fit_id` for the length of the block, which runs in an event loop."""
        watch = Watch()
        with self._lock:
            self._watches.setdefault(fit_id, set()).add(watch)
        try:
            yield watch
        finally:
            with self._lock:
                watches = self._watches[fit_id]
                watches.discard(watch)
                if not watches:
                    del self._watches[fit_id]

    def notify(self, fit_id: str) -> None:
        """Wake those who watch `fit_id`. Call it after the commit, from any thread."""
        with self._lock:
            watches = tuple(self._watches.get(fit_id, ()))
        for watch in watches:
            watch.wake()

    def close(self) -> None:
        """Wake everybody for good: the server is stopping. Safe in a signal handler's thread, not in the handler."""
        self._closed = True
        with self._lock:
            watches = [watch for group in self._watches.values() for watch in group]
        for watch in watches:
            watch.wake()
