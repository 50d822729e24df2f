"""Keys: make, look at, revoke."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from app.domain.api_key import ID_PREFIX, ApiKeyRecord, Scope, digest_of, format_key, new_secret
from app.domain.errors import Conflict, Finding, Invalid
from app.domain.ids import new_id
from app.domain.tenancy import DEFAULT_TENANT, current_tenant
from app.service.admin.key_ring import KeyRing
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store, UnitOfWork

KEYS_MAX = 10_000

Enter = Callable[[UnitOfWork, str], object]
"""What is called with the id of a key that was changed, before that is committed."""


class Keys:
    """The use cases of keys; `ring` knows of every change before it is acknowledged."""

    def __init__(self, store: Store, ring: KeyRing, most: int = KEYS_MAX) -> None:
        """Keep keys in `store`, and have `ring` know those that are there.

        All that are not revoked are held in memory: `most` at a time.
        """
        self._store = store
        self._most = most
        self._ring = ring
        self._turn = threading.Lock()
        self.closed_by: str | None = None
        """Id of the key by which the server was closed to requests without one, if that was since it started."""
        with self._changing():
            pass

    def create(
        self,
        name: str,
        scopes: Sequence[Scope],
        expires_at: datetime | None,
        tenant: str | None = None,
        enter: Enter | None = None,
    ) -> tuple[ApiKeyRecord, str]:
        """Create a key and return it with its text, which cannot be recovered later.

        It is for `tenant`, by default for the one of whoever makes it.

        Invalid if it has expired already, or if it closes an open server to all administrators; Conflict if there are
        too many.
        """
        secret = new_secret()
        with self._changing() as work:
            self._check(work, scopes, expires_at)
            was_open = not self._ring.closed
            key = ApiKeyRecord(
                id=new_id(ID_PREFIX),
                tenant=tenant or current_tenant() or DEFAULT_TENANT,
                name=name,
                scopes=[scope for scope in Scope if scope in scopes],
                digest=digest_of(secret.encode()),
                created_at=work.now,
                expires_at=expires_at,
            )
            work.api_keys.add(key)
            if enter is not None:
                enter(work, key.id)
        if was_open:
            self.closed_by = key.id
        return key, format_key(key.id, secret)

    def get(self, key_id: str) -> ApiKeyRecord:
        """Return the key; NotFound if there is none."""
        with self._store.begin() as work:
            return work.api_keys.get(key_id)

    def list(self, page: PageRequest) -> Page[ApiKeyRecord]:
        """Return a page of keys, those that were revoked too."""
        with self._store.begin() as work:
            return work.api_keys.list(page)

    def revoke(self, key_id: str, enter: Enter | None = None) -> None:
        """End a key, which stays on record; again changes nothing. NotFound if there is none."""
        with self._changing() as work:
            work.api_keys.get(key_id)
            work.api_keys.revoke(key_id, work.now)
            if enter is not None:
                enter(work, key_id)

    def reset(self, enter: Callable[[UnitOfWork], object]) -> int:
        """Delete all keys and return how many: none is needed any more, unless the settings have one.

        `enter` is called before that is committed. For a server that does not run, by who has its data directory.
        """
        with self._changing() as work:
            count = work.api_keys.count()
            work.api_keys.clear()
            enter(work)
        return count

    def write_uses(self) -> None:
        """Write down when keys were last used."""
        uses = self._ring.take_uses()
        if uses:
            with self._store.begin() as work:
                for key_id, moment in uses.items():
                    work.api_keys.use(key_id, moment)

    def _check(self, work: UnitOfWork, scopes: Sequence[Scope], expires_at: datetime | None) -> None:
        if expires_at is not None and expires_at <= work.now:
            raise _invalid("/expires_at", "out_of_range", "this moment has passed; choose a later one")
        if not self._ring.closed and Scope.ADMIN not in scopes:
            raise _invalid("/scopes", "admin_first", "the first key needs the scope admin: without one, none is made")
        if len(work.api_keys.not_revoked()) >= self._most:
            raise Conflict(f"there are {self._most} keys already; revoke some", code="too_many_keys")

    @contextmanager
    def _changing(self) -> Iterator[UnitOfWork]:
        # One after the other, up to the ring: what is committed last must be what the ring knows in the end.
        with self._turn:
            with self._store.begin() as work:
                yield work
                keys, ever_made = work.api_keys.not_revoked(), work.api_keys.count()
            self._ring.replace(keys, ever_made)


def _invalid(pointer: str, code: str, detail: str) -> Invalid:
    return Invalid(detail, findings=[Finding(pointer, code, detail)])
