"""API keys: create, list, revoke, and the in-memory copy that requests are authenticated against."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from hmac import compare_digest

from app.domain.access import (
    DEFAULT_TENANT,
    ID_PREFIX,
    ApiKeyRecord,
    Caller,
    Scope,
    current_tenant,
    expand_scopes,
    format_key,
    hash_secret,
    new_secret,
    parse_key,
)
from app.domain.clock import Clock
from app.domain.errors import Conflict, Finding, Invalid, Unauthorized
from app.domain.ids import new_id
from app.store.pages import Page, PageRequest
from app.store.unit_of_work import Store, UnitOfWork

SETTING = Caller("setting", DEFAULT_TENANT, frozenset(Scope))
"""The principal of the key that the server was started with; it allows everything."""

USE_WRITTEN_EVERY = timedelta(minutes=1)
SETTING_BYTES_MAX = 1024


class KeyRing:
    """The keys that were not revoked. Asked by the event loop; replaced as a whole, from any thread."""

    def __init__(self, clock: Clock, setting: bytes | None = None) -> None:
        """Know the key `setting`, if there is one, besides those of `replace`."""
        self._clock = clock
        # Compared by hashes of one length: the time of a comparison reveals nothing about the key.
        self._setting = None if setting is None else _hash(setting)
        self._keys: dict[str, tuple[ApiKeyRecord, Caller]] = {}
        self._used: dict[str, datetime] = {}
        self._to_write: dict[str, datetime] = {}
        self.closed = setting is not None
        """Whether a key is needed. It stays so when the last one has been revoked or has expired."""

    def replace(self, keys: Iterable[ApiKeyRecord], ever_made: int) -> None:
        """Know `keys` from now on; `ever_made` counts all that there ever were."""
        self._keys = {key.id: (key, Caller(key.id, key.tenant, expand_scopes(key.scopes))) for key in keys}
        # Copied first: the event loop may add to it at the same time.
        self._used = {key_id: moment for key_id, moment in [*self._used.items()] if key_id in self._keys}
        self.closed = self._setting is not None or ever_made > 0

    def caller(self, sent: bytes) -> Caller:
        """Return the owner of a key; Unauthorized if it is unknown or expired."""
        if self._setting is not None and len(sent) <= SETTING_BYTES_MAX and compare_digest(_hash(sent), self._setting):
            return SETTING
        parts = parse_key(sent)
        known = None if parts is None else self._keys.get(parts[0])
        if parts is None or known is None or not _is_secret(known[0], parts[1]):
            raise Unauthorized("the key that was sent is not one of this server, or was removed", code="unknown_key")
        key, caller = known
        now = self._clock.now()
        if key.expires_at is not None and now >= key.expires_at:
            raise Unauthorized("the key that was sent has expired; ask for another", code="expired_key")
        self._note_use(key, now)
        return caller

    def take_uses(self) -> dict[str, datetime]:
        """Return and clear the times of last use that are to be stored."""
        uses, self._to_write = self._to_write, {}
        return dict(uses)

    def _note_use(self, key: ApiKeyRecord, now: datetime) -> None:
        written = self._used.get(key.id, key.used_at)
        if written is None or now - written >= USE_WRITTEN_EVERY:
            self._used[key.id] = self._to_write[key.id] = now


def _hash(sent: bytes) -> bytes:
    return hashlib.sha256(sent).digest()


def _is_secret(key: ApiKeyRecord, secret: bytes) -> bool:
    return compare_digest(hash_secret(secret).encode(), key.digest.encode())


KEYS_MAX = 10_000
CHANGED = "keys"
"""The notification that other servers receive when keys have changed."""

Enter = Callable[[UnitOfWork, str], object]
"""Called with the id of a changed key, before the commit."""


class Keys:
    """The use cases of keys; `ring` is updated before a change is acknowledged."""

    def __init__(self, store: Store, ring: KeyRing, most: int = KEYS_MAX) -> None:
        """Keep keys in `store`, and in `ring` those that are there.

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

        It is for `tenant`, by default for the tenant of the caller.

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
                digest=hash_secret(secret.encode()),
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
        with self._store.read() as work:
            return work.api_keys.get(key_id)

    def list(self, page: PageRequest) -> Page[ApiKeyRecord]:
        """Return a page of keys, those that were revoked too."""
        with self._store.read() as work:
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

    def refresh(self) -> None:
        """Update the ring with what other servers have changed."""
        with self._turn:
            with self._store.read() as work:
                keys, ever_made = work.api_keys.not_revoked(), work.api_keys.count()
            self._ring.replace(keys, ever_made)

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
        # One after the other, up to the ring: what is committed last must be what the ring holds in the end.
        with self._turn:
            with self._store.begin() as work:
                work.lock("keys")  # the first key closes the server, and there is a most of them
                yield work
                keys, ever_made = work.api_keys.not_revoked(), work.api_keys.count()
                work.changed.add(CHANGED)
            self._ring.replace(keys, ever_made)


def _invalid(pointer: str, code: str, detail: str) -> Invalid:
    return Invalid(detail, findings=[Finding(pointer, code, detail)])
