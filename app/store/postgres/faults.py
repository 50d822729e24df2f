"""Failures of PostgreSQL and of the connection to it, as errors of the domain."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import psycopg
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.domain.errors import (
    ApiError,
    DatabaseBusy,
    DatabaseUnavailable,
    Invalid,
    StorageFailed,
    StorageFull,
    TransactionConflict,
)

LOST = ("08", "57P0")
"""What the codes of lost connections begin with: connection exceptions, and a server that stops or starts."""

CONCURRENT = ("40", "23", "55P03", "57014")
"""Those of transactions that others have got in the way of: rolled back, not unique any more, too long waited."""

_REASONS: Mapping[str, tuple[type[ApiError], str]] = MappingProxyType(
    {
        "53100": (StorageFull, "the disk of PostgreSQL is full; free some space, then try again"),
        "53": (DatabaseBusy, "PostgreSQL has no more connections or memory to give; try again"),
        "58": (StorageFailed, "PostgreSQL met a failing disk; have it checked, then try again"),
        "XX": (StorageFailed, "PostgreSQL found its data damaged; have it checked, then try again"),
        "25006": (DatabaseUnavailable, "PostgreSQL accepts no writes now (it is a standby); try again"),
    }
)

_NUL = ("NUL", "0x00")
"""What the driver and PostgreSQL call the character that text must not contain."""

_logger = logging.getLogger(__name__)


@contextmanager
def database_faults() -> Iterator[None]:
    """Have errors named: DatabaseUnavailable, DatabaseBusy, StorageFull, StorageFailed. Nothing was changed then."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseBusy("all connections to the database are in use (ADJOINT_DATABASE_CONNECTIONS)") from error
    except InvalidatePoolError as error:
        raise DatabaseUnavailable("the connections to the database are lost; try again") from error
    except DBAPIError as error:
        named = _named(error)
        if named is None:
            raise
        raise named from error


def is_lost(error: DBAPIError) -> bool:
    """Whether an error means that the connection is gone, or that there is none to be had."""
    cause = error.orig
    state = getattr(cause, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)
    return error.connection_invalidated or state.startswith(LOST)


def reason_of(error: BaseException | None) -> str:
    """Return what the driver says in one line, without the statement. It names hosts and roles, never a password."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((primary or str(error)).split())


def _named(error: DBAPIError) -> ApiError | None:
    state: str = getattr(error.orig, "sqlstate", None) or ""
    if is_lost(error):
        _logger.warning("the connection to the database failed: %s", reason_of(error.orig))
        return DatabaseUnavailable("the connection to the database is lost, and nothing was changed; try again")
    if state.startswith(CONCURRENT):
        _logger.info("a transaction was rolled back (%s): %s", state, reason_of(error.orig))
        return TransactionConflict("others are changing the same rows; nothing was changed, try again")
    for start, (kind, detail) in _REASONS.items():
        if state.startswith(start):
            _logger.error("the database failed (%s): %s", state, reason_of(error.orig))
            return kind(detail)
    if isinstance(error.orig, psycopg.DataError) and any(nul in str(error.orig) for nul in _NUL):
        return Invalid("text must not contain NUL characters; remove them", code="nul_byte")
    return None
