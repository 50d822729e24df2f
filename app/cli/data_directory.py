"""Keys and the audit trail in a data directory that no server is using."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from app.api.schemas.administration import ApiKey, AuditEntry, KeyRequest, NewApiKey
from app.config.database import DatabaseSettings
from app.domain.access import Scope
from app.domain.audit import OFFLINE, Act
from app.domain.clock import SystemClock, read_rfc3339
from app.http.validation import validated
from app.service.admin.audit import AUDIT, AuditFiles, AuditRotation
from app.service.admin.directory_identity import open_database
from app.service.admin.keys import Enter, KeyRing, Keys
from app.service.admin.quarantine import Quarantine
from app.store.data_directory import data_directory_lock
from app.store.locations import location_of
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store, UnitOfWork
from app.system.durable import Durable

T = TypeVar("T")

A_PAGE = 1000


class DataDirectory:
    """An `Administration` of a data directory."""

    def __init__(self, store: Store, trail: AuditFiles) -> None:
        """Work in `store`, with the files of the audit trail's older entries."""
        self._trail = AuditRotation(store, trail)
        self._keys = Keys(store, KeyRing(SystemClock()))

    def create_key(
        self, name: str, scopes: Sequence[str], expires_at: str | None = None, tenant: str | None = None
    ) -> dict[str, Any]:
        """Make a key; Invalid if a field is wrong."""
        request = validated(KeyRequest, {"name": name, "scopes": [*scopes], "expires_at": expires_at, "tenant": tenant})
        moment = None if request.expires_at is None else read_rfc3339(request.expires_at)
        key, text = self._keys.create(
            request.name, [Scope(scope) for scope in request.scopes], moment, request.tenant, _enter("create_key")
        )
        return NewApiKey.made(key, text, closed_server=self._keys.closed_by == key.id).model_dump(mode="json")

    def reset_keys(self) -> int:
        """Delete all keys and return how many there were, those that had ended too."""
        return self._keys.reset(lambda work: _append(work, "reset_keys", "/v1/keys"))

    def list_keys(self) -> list[dict[str, Any]]:
        """Return all keys, the newest first."""
        return [ApiKey.show(key).model_dump(mode="json") for page in _pages(self._keys.list) for key in page]

    def revoke_key(self, key_id: str) -> None:
        """End a key; NotFound if there is none."""
        self._keys.revoke(key_id, _enter("revoke_key"))

    def audit_entries(self) -> Iterator[dict[str, Any]]:
        """Yield the audit trail from the oldest entry that is kept; TrailBroken at a line of a file that is none."""
        for entry in self._trail.entries():
            yield AuditEntry.show(entry).model_dump(mode="json")


@contextmanager
def opened(data_dir: Path) -> Iterator[DataDirectory]:
    """Open a data directory, made if missing; DataDirectoryInUse if a server has it, DatabaseUnusable."""
    with data_directory_lock(data_dir):
        clock, durable = SystemClock(), Durable()
        location = location_of(DatabaseSettings())
        with open_database(data_dir, clock, durable, Quarantine(data_dir, durable, clock), location) as store:
            yield DataDirectory(store, AuditFiles(data_dir / AUDIT, durable))


def _enter(action: str) -> Enter:
    # In the transaction of the change itself: here it is at hand.
    return lambda work, key_id: _append(work, action, f"/v1/keys/{key_id}")


def _append(work: UnitOfWork, action: str, path: str) -> None:
    work.audit.append([Act(OFFLINE, action, path, "done", "", "")])


def _pages(fetch: Callable[[PageRequest], Page[T]]) -> Iterator[tuple[T, ...]]:
    cursor: str | None = None
    while True:
        page = fetch(PageRequest(A_PAGE, cursor))
        yield page.items
        if page.next_cursor is None:
            return
        cursor = page.next_cursor
