"""The keys as the door sees them: in memory, so that no request waits for the database to be let in."""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from hmac import compare_digest

from app.domain.api_key import ApiKeyRecord, Caller, Scope, allowed_by, digest_of, parsed
from app.domain.clock import Clock
from app.domain.errors import Unauthorized
from app.domain.tenancy import DEFAULT_TENANT

SETTING = Caller("setting", DEFAULT_TENANT, frozenset(Scope))
"""Whoever sends the key that the server was started with; it allows everything."""

USE_WRITTEN_EVERY = timedelta(minutes=1)
SETTING_BYTES_MAX = 1024


class KeyRing:
    """The keys that were not revoked. Asked by the event loop; replaced as a whole, from any thread."""

    def __init__(self, clock: Clock, setting: bytes | None = None) -> None:
        """Know the key `setting`, if there is one, besides those of `replace`."""
        self._clock = clock
        # Compared by hashes of one length: how long a comparison takes tells nothing about the key.
        self._setting = None if setting is None else _hash(setting)
        self._keys: dict[str, tuple[ApiKeyRecord, Caller]] = {}
        self._used: dict[str, datetime] = {}
        self._to_write: dict[str, datetime] = {}
        self.closed = setting is not None
        """Whether a key is needed. It stays so when the last one has been revoked or has expired."""

    def replace(self, keys: Iterable[ApiKeyRecord], ever_made: int) -> None:
        """Know `keys` from now on; `ever_made` counts all that there ever were."""
        self._keys = {key.id: (key, Caller(key.id, key.tenant, allowed_by(key.scopes))) for key in keys}
        # Copied first: the event loop may add to it meanwhile.
        self._used = {key_id: moment for key_id, moment in [*self._used.items()] if key_id in self._keys}
        self.closed = self._setting is not None or ever_made > 0

    def caller(self, sent: bytes) -> Caller:
        """Return whose key was sent; Unauthorized if it is nobody's, or its time is over."""
        if self._setting is not None and len(sent) <= SETTING_BYTES_MAX and compare_digest(_hash(sent), self._setting):
            return SETTING
        parts = parsed(sent)
        known = None if parts is None else self._keys.get(parts[0])
        if parts is None or known is None or not _is_secret_of(known[0], parts[1]):
            raise Unauthorized("this server does not know the key that was sent, or not any more", code="unknown_key")
        key, caller = known
        now = self._clock.now()
        if key.expires_at is not None and now >= key.expires_at:
            raise Unauthorized("the key that was sent has expired; ask for another", code="expired_key")
        self._note_use(key, now)
        return caller

    def take_uses(self) -> dict[str, datetime]:
        """Return when which keys were last used, where that is to be written down, and forget it."""
        uses, self._to_write = self._to_write, {}
        return dict(uses)

    def _note_use(self, key: ApiKeyRecord, now: datetime) -> None:
        written = self._used.get(key.id, key.used_at)
        if written is None or now - written >= USE_WRITTEN_EVERY:
            self._used[key.id] = self._to_write[key.id] = now


def _hash(sent: bytes) -> bytes:
    return hashlib.sha256(sent).digest()


def _is_secret_of(key: ApiKeyRecord, secret: bytes) -> bool:
    return compare_digest(digest_of(secret).encode(), key.digest.encode())
