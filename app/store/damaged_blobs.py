"""Marks of blobs whose files are missing or damaged, within one unit of work."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Column, ColumnElement, Connection, Label, bindparam, delete, exists, func, select
from sqlalchemy.dialects.sqlite import insert

from app.store.tables import damaged_blobs

_MARK = insert(damaged_blobs).on_conflict_do_nothing()
_CLEAR = delete(damaged_blobs).where(damaged_blobs.c.digest.in_(bindparam("digests", expanding=True)))
_AMONG = select(damaged_blobs.c.digest).where(damaged_blobs.c.digest.in_(bindparam("digests", expanding=True)))
_ALL = select(damaged_blobs.c.digest)
_COUNT = select(func.count()).select_from(damaged_blobs)
_DIGESTS_AT_ONCE = 500


def is_damaged(digest: Column[str]) -> Label[bool]:
    """Return the expression that tells whether the blob in a column of digests is marked, called `corrupt`."""
    marked: ColumnElement[bool] = exists().where(damaged_blobs.c.digest == digest)
    return marked.label("corrupt")


class DamagedBlobs:
    """The marks of all tenants: the same bytes are one blob, whoever has stored them."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now

    def mark(self, digest: str, problem: str) -> bool:
        """Mark a blob, with what is wrong with its file; return whether it was not marked before."""
        values = {"digest": digest, "problem": problem, "found_at": self._now}
        return bool(self._connection.execute(_MARK, values).rowcount)

    def clear(self, digests: Iterable[str]) -> int:
        """Remove the marks of blobs, if they have any; return how many had."""
        return sum(self._connection.execute(_CLEAR, {"digests": part}).rowcount for part in _parts(digests))

    def among(self, digests: Iterable[str]) -> frozenset[str]:
        """Return those of the digests that are marked."""
        parts = (self._connection.execute(_AMONG, {"digests": part}).scalars() for part in _parts(digests))
        return frozenset(digest for part in parts for digest in part)

    def all(self) -> frozenset[str]:
        """Return every digest that is marked."""
        return frozenset(self._connection.execute(_ALL).scalars())

    def count(self) -> int:
        """Return how many blobs are marked."""
        return int(self._connection.execute(_COUNT).scalar_one())


def _parts(digests: Iterable[str]) -> Iterable[list[str]]:
    listed = [*digests]
    return (listed[start : start + _DIGESTS_AT_ONCE] for start in range(0, len(listed), _DIGESTS_AT_ONCE))
