"""Which blobs the rows refer to, and which blobs are marked as damaged."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Label,
    bindparam,
    delete,
    exists,
    false,
    func,
    or_,
    select,
    union,
)

from app.store.expressions import insert_or_ignore
from app.store.repository import Repository
from app.store.tables import (
    checkpoints,
    damaged_blobs,
    dataset_columns,
    datasets,
    discarded_blobs,
    fits,
    gradients,
    session_files,
)

_ALL = union(
    select(datasets.c.digest),
    select(dataset_columns.c.blob),
    select(checkpoints.c.digest).where(checkpoints.c.deleted == false()),
    select(gradients.c.digest),
    select(session_files.c.digest).where(session_files.c.digest.is_not(None)),
)
_ANY = select(
    or_(
        exists().where(datasets.c.digest == bindparam("digest")),
        exists().where(dataset_columns.c.blob == bindparam("digest")),
        exists().where(checkpoints.c.digest == bindparam("digest"), checkpoints.c.deleted == false()),
        exists().where(gradients.c.digest == bindparam("digest")),
        exists().where(session_files.c.digest == bindparam("digest")),
    )
)
_OF_FIT = union(
    select(checkpoints.c.digest).where(checkpoints.c.fit_id == bindparam("fit"), checkpoints.c.deleted == false()),
    select(gradients.c.digest).where(gradients.c.fit_id == bindparam("fit")),
)
_SIZES = union(
    *(
        select(table.c.digest, table.c.size_bytes).where(*present)
        for table, present in (
            (datasets, [datasets.c.tenant == bindparam("whose")]),
            (checkpoints, [checkpoints.c.tenant == bindparam("whose"), checkpoints.c.deleted == false()]),
            (gradients, [gradients.c.fit_id == fits.c.id, fits.c.tenant == bindparam("whose")]),
        )
    )
).subquery()
_BYTES = select(func.coalesce(func.sum(_SIZES.c.size_bytes), 0))


class BlobReferences:
    """What refers to blobs, within one unit of work: datasets, their columns, checkpoints that are not deleted,
    captured gradients, and the files of sessions.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> frozenset[str]:
        """Return every digest that something refers to."""
        return frozenset(self._connection.execute(_ALL).scalars())

    def uses(self) -> Iterator[tuple[str, str]]:
        """Yield each digest with what refers to it, in words."""
        for digest, dataset_id in self._connection.execute(select(datasets.c.digest, datasets.c.id)):
            yield digest, f"dataset {dataset_id} (the bytes as they came)"
        columns = select(dataset_columns.c.blob, dataset_columns.c.dataset_id, dataset_columns.c.name)
        for digest, dataset_id, name in self._connection.execute(columns):
            yield digest, f"dataset {dataset_id} (column {name[:64]!r})"
        kept = select(checkpoints).where(checkpoints.c.deleted == false())
        for row in self._connection.execute(kept):
            owner = f"fit {row.fit_id}" if row.fit_id else f"session {row.session_id}" if row.session_id else "no fit"
            yield row.digest, f"checkpoint {row.id} (step {row.step} of {owner})"
        for row in self._connection.execute(select(gradients)):
            yield row.digest, f"gradient of {row.parameter[:64]!r} (step {row.step} of fit {row.fit_id})"
        parts = select(session_files.c.digest, session_files.c.name, session_files.c.session_id)
        for digest, name, session_id in self._connection.execute(parts.where(session_files.c.digest.is_not(None))):
            yield digest, f"session {session_id} (its file {name})"

    def includes(self, digest: str) -> bool:
        """Whether something refers to the blob `digest`."""
        return bool(self._connection.execute(_ANY, {"digest": digest}).scalar_one())

    def of_fit(self, fit_id: str) -> frozenset[str]:
        """Return every digest that the fit refers to."""
        return frozenset(self._connection.execute(_OF_FIT, {"fit": fit_id}).scalars())

    def bytes_of(self, tenant: str) -> int:
        """Return the size of all that the tenant has stored, the same bytes counting once.

        Datasets count as they came, without the columns that were made of them.
        """
        return int(self._connection.execute(_BYTES, {"whose": tenant}).scalar_one())


_MARK = insert_or_ignore(damaged_blobs)
_CLEAR = delete(damaged_blobs).where(damaged_blobs.c.digest.in_(bindparam("digests", expanding=True)))
_AMONG = select(damaged_blobs.c.digest).where(damaged_blobs.c.digest.in_(bindparam("digests", expanding=True)))
_ALL_DAMAGED = select(damaged_blobs.c.digest)
_COUNT = select(func.count()).select_from(damaged_blobs)
_DIGESTS_AT_ONCE = 500


def is_damaged(digest: Column[str]) -> Label[bool]:
    """Return the expression for whether the blob in a column of digests is marked, called `corrupt`."""
    marked: ColumnElement[bool] = exists().where(damaged_blobs.c.digest == digest)
    return marked.label("corrupt")


class DamagedBlobs(Repository):
    """The marks of all tenants: the same bytes are one blob for all of them."""

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
        return frozenset(self._connection.execute(_ALL_DAMAGED).scalars())

    def count(self) -> int:
        """Return how many blobs are marked."""
        return int(self._connection.execute(_COUNT).scalar_one())


_DISCARD = insert_or_ignore(discarded_blobs)
_RESTORE = delete(discarded_blobs).where(discarded_blobs.c.digest.in_(bindparam("digests", expanding=True)))
_FIRST_NOTED = (
    select(discarded_blobs.c.digest)
    .where(discarded_blobs.c.discarded_at < bindparam("before"))
    .order_by(discarded_blobs.c.discarded_at, discarded_blobs.c.digest)
    .limit(bindparam("count"))
)
_TAKE = delete(discarded_blobs).where(discarded_blobs.c.digest.in_(_FIRST_NOTED)).returning(discarded_blobs.c.digest)


class DiscardedBlobs(Repository):
    """The blobs that are to be deleted after a while, unless something refers to them again."""

    def add(self, digests: Iterable[str]) -> None:
        """Note blobs that nothing seems to refer to any more, and when, by the clock that all servers share."""
        now = self._dialect.clock(self._connection, self._now)
        for digest in sorted({*digests}):
            self._connection.execute(_DISCARD, {"digest": digest, "discarded_at": now})

    def remove(self, digests: Iterable[str]) -> None:
        """Forget blobs whose bytes were stored again."""
        for part in _parts(digests):
            self._connection.execute(_RESTORE, {"digests": part})

    def take(self, kept_for: timedelta, count: int) -> list[str]:
        """Remove and return some that were noted longer ago than `kept_for`, at most `count`.

        Who calls `remove` for one of them waits until this unit of work ends.
        """
        before = self._dialect.clock(self._connection, self._now) - kept_for
        return sorted(self._connection.execute(_TAKE, {"before": before, "count": count}).scalars())


def _parts(digests: Iterable[str]) -> Iterable[list[str]]:
    listed = [*digests]
    return (listed[start : start + _DIGESTS_AT_ONCE] for start in range(0, len(listed), _DIGESTS_AT_ONCE))
