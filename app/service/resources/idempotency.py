"""Idempotency-Key: the first response is stored in the transaction that creates the resource, and repeated."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from app.domain.access import current_tenant
from app.domain.errors import IdempotencyInFlight, IdempotencyMismatch
from app.domain.records import IdempotencyRecord
from app.store.unit_of_work import Store, UnitOfWork

T = TypeVar("T")

SaveResponse = Callable[[UnitOfWork, T], None]
"""What a use case calls with the resource it has created, before it commits."""

KEPT_FOR = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request that may come again: the key its client chose, the route it belongs to, and what it says."""

    scope: str
    key: str
    body_digest: str


class Idempotency:
    """The kept answers, and the keys that are being answered now."""

    def __init__(self, store: Store, kept_for: timedelta = KEPT_FOR) -> None:
        """Answer out of `store`, where answers are kept for so long."""
        self._store = store
        self._kept_for = kept_for
        self._lock = threading.Lock()
        self._in_flight: set[tuple[str | None, str, str]] = set()

    @contextmanager
    def answering(self, ticket: Ticket) -> Iterator[IdempotencyRecord | None]:
        """Have `ticket`'s key to oneself, and the answer that was given to it before, None for the first time.

        IdempotencyMismatch if another body came with the key, IdempotencyInFlight while it is being answered.
        """
        with self._alone(ticket):
            with self._store.read() as work:
                kept = work.idempotency.find(ticket.key, ticket.scope)
            if kept is not None and kept.body_digest != ticket.body_digest:
                raise IdempotencyMismatch(
                    "this Idempotency-Key was sent with another request before; choose a new key for a new request"
                )
            yield kept

    def forget_old(self) -> None:
        """Drop the answers that no client can still be waiting for."""
        with self._store.begin() as work:
            work.idempotency.forget(work.now - self._kept_for)

    @contextmanager
    def _alone(self, ticket: Ticket) -> Iterator[None]:
        name = (current_tenant(), ticket.scope, ticket.key)
        with self._lock:
            if name in self._in_flight:
                raise IdempotencyInFlight("a request with this Idempotency-Key is being answered; ask again soon")
            self._in_flight.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._in_flight.discard(name)
