"""The audit trail: written before the answer is sent, and read by administrators."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.audit import Act, AuditRecord
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store


@dataclass(slots=True)
class _Batch:
    """Acts that are entered in one transaction, and the task that does so."""

    acts: list[Act] = field(default_factory=list)
    written: asyncio.Task[None] | None = None


class AuditTrail:
    """The use cases of the trail."""

    def __init__(self, store: Store) -> None:
        """Keep the trail in `store`."""
        self._store = store
        self._next = _Batch()
        self._turn = asyncio.Lock()

    async def record(self, act: Act) -> None:
        """Enter an act; it is durable on return. Those that come meanwhile share the next commit.

        StorageFull, StorageFailed or DatabaseBusy if it cannot be entered. For the event loop.
        """
        batch = self._next
        batch.acts.append(act)
        async with self._turn:
            if batch.written is None:
                self._next = _Batch()
                batch.written = asyncio.create_task(asyncio.to_thread(self._append, batch.acts))
                await asyncio.wait([batch.written])
        # Shielded: a client that goes away must not take the entries of others with it.
        await asyncio.shield(batch.written)

    def list(self, page: PageRequest) -> Page[AuditRecord]:
        """Return a page of the trail."""
        with self._store.begin() as work:
            return work.audit.list(page)

    def _append(self, acts: Sequence[Act]) -> None:
        with self._store.begin() as work:
            work.audit.append(acts)
