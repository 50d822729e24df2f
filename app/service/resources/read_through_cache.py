"""A read-through cache: values are kept until they change, so that many readers cost one read."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from app.domain.access import acting_for, current_tenant

V = TypeVar("V")


class _Entry(Generic[V]):
    """A cached value, or one that is being read, its tenant, and whether it was used since it was read."""

    __slots__ = ("tenant", "used", "value")

    def __init__(self) -> None:
        self.tenant = current_tenant()
        self.used = False
        self.value: V | None = None


class ReadThroughCache(Generic[V]):
    """At most `max_entries` values by key, least recently used evicted first. Thread-safe.

    An entry is inserted before the read and removed by `invalidate`: a value that was read before a change and
    arrives after it finds its entry gone and is not cached. So `invalidate` or `renew` must be called after each commit
    that changes the value, and before anybody is notified of the change. Entries of one tenant are not visible to the
    others. With `max_entries` of 0 every value is read: that is for what other processes change as well, since a
    notification of theirs may be late, or lost with their process.
    """

    def __init__(self, max_entries: int, is_cacheable: Callable[[V], bool] | None = None) -> None:
        """Cache values for which `is_cacheable` is true, by default all."""
        self._max_entries = max_entries
        self._is_cacheable = is_cacheable
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry[V]] = OrderedDict()

    def get(self, key: str) -> V | None:
        """Return the value if it is cached. Never waits for a read, so an event loop may call it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.value is None or entry.tenant != current_tenant():
                return None
            self._entries.move_to_end(key)
            entry.used = True
            return entry.value

    def read(self, key: str, read: Callable[[str], V]) -> V:
        """Return the value, by `read` if it is not cached; exceptions are not cached."""
        known = self.get(key)
        return self._read(key, read) if known is None else known

    def _read(self, key: str, read: Callable[[str], V]) -> V:
        entry: _Entry[V] = _Entry()
        with self._lock:
            self._entries[key] = entry
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)
        value = None
        try:
            value = read(key)
        finally:
            if value is None or (self._is_cacheable is not None and not self._is_cacheable(value)):
                self._remove(key, entry)
        entry.value = value
        return value

    def invalidate(self, key: str) -> None:
        """Remove the value of a key."""
        with self._lock:
            self._entries.pop(key, None)

    def renew(self, key: str, read: Callable[[str], V]) -> None:
        """Invalidate the value of a key, and read it again if a tenant used it: those who poll find it here.

        Nothing is raised if that fails. It is for callers that may wait for a read.
        """
        with self._lock:
            entry = self._entries.pop(key, None)
        if entry is not None and entry.used and entry.tenant is not None:
            with acting_for(entry.tenant), suppress(Exception):
                self._read(key, read)

    def _remove(self, key: str, entry: _Entry[V]) -> None:
        with self._lock:
            if self._entries.get(key) is entry:
                del self._entries[key]
