"""API keys, their scopes, and the tenants that they belong to.

A key is `adj_<id>_<secret>`. Its secret has 256 random bits, so it cannot be guessed from its SHA-256, and only that is
kept: a hash that is slow on purpose would protect no better.

For whom something is done goes along with the request (a context variable): through the threads and tasks that it
starts, down to the unit of work, which finds and adds that tenant's rows only. What the server does of its own accord
is done for no tenant, and has access to the rows of all.
"""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.ids import is_id

ID_PREFIX = "key"
KEY_PREFIX = "adj"
KEY_BYTES_MAX = 256
SECRET_BYTES = 32


class Scope(StrEnum):
    """What a key may be used for; each scope includes those before it."""

    READ = "read"
    TRAIN = "train"
    ADMIN = "admin"


_ORDER = tuple(Scope)


@dataclass(frozen=True, slots=True)
class ApiKeyRecord:
    """A key without its secret, of which it holds the SHA-256 (`digest`).

    `expires_at` and `revoked_at` end its life; `used_at` is when it was last used, to about a minute.
    """

    id: str
    tenant: str
    name: str
    scopes: list[str]
    digest: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request: the id of the key, and what that allows."""

    key_id: str
    tenant: str
    scopes: frozenset[Scope]


def expand_scopes(scopes: list[str]) -> frozenset[Scope]:
    """Return `scopes` and all that they include; ValueError if one is unknown."""
    highest = max((_ORDER.index(Scope(scope)) for scope in scopes), default=-1)
    return frozenset(_ORDER[: highest + 1])


def new_secret() -> str:
    """Return 256 random bits as 64 hexadecimal digits."""
    return secrets.token_hex(SECRET_BYTES)


def format_key(key_id: str, secret: str) -> str:
    """Return the key that a client sends."""
    return f"{KEY_PREFIX}_{key_id.removeprefix(f'{ID_PREFIX}_')}_{secret}"


def parse_key(sent: bytes) -> tuple[str, bytes] | None:
    """Return the id and the secret of what was sent; None if it is too long, or no key of this kind."""
    if len(sent) > KEY_BYTES_MAX:
        return None
    prefix, _, rest = sent.partition(b"_")
    body, _, secret = rest.partition(b"_")
    key_id = f"{ID_PREFIX}_{body.decode('latin-1')}"
    return (key_id, secret) if prefix == KEY_PREFIX.encode() and is_id(ID_PREFIX, key_id) else None


def hash_secret(secret: bytes) -> str:
    """Return the SHA-256 of a secret, as it is kept."""
    return hashlib.sha256(secret).hexdigest()


DEFAULT_TENANT = "default"
"""Whose everything is while no key says otherwise."""

TENANT_PATTERN = r"^[a-z0-9][a-z0-9_\-]{0,63}$"

_CURRENT: ContextVar[str | None] = ContextVar("tenant", default=None)


def current_tenant() -> str | None:
    """Return for whom something is done; None if it is the server's own doing."""
    return _CURRENT.get()


@contextmanager
def acting_for(tenant: str) -> Iterator[None]:
    """Do what the block does for `tenant`."""
    token = _CURRENT.set(tenant)
    try:
        yield
    finally:
        _CURRENT.reset(token)
