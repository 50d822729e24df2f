"""Tenants: who owns what. A key belongs to one, and who uses it sees nothing of the others.

For whom something is done goes along with the request (a context variable): through the threads and tasks that it
starts, down to the unit of work, which finds and adds that tenant's rows only. What the server does of its own accord
is done for nobody, and sees the rows of all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
