"""Which blobs the database refers to: the others may be deleted."""

from sqlalchemy import Connection, bindparam, exists, false, or_, select, union

from app.store.tables import checkpoints, dataset_columns, datasets

_ALL = union(
    select(datasets.c.digest),
    select(dataset_columns.c.blob),
    select(checkpoints.c.digest).where(checkpoints.c.deleted == false()),
)
_ANY = select(
    or_(
        exists().where(datasets.c.digest == bindparam("digest")),
        exists().where(dataset_columns.c.blob == bindparam("digest")),
        exists().where(checkpoints.c.digest == bindparam("digest"), checkpoints.c.deleted == false()),
    )
)


class BlobReferences:
    """What refers to blobs, within one unit of work: datasets, their columns, and checkpoints that are not deleted."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> frozenset[str]:
        """Return every digest that something refers to."""
        return frozenset(self._connection.execute(_ALL).scalars())

    def includes(self, digest: str) -> bool:
        """Whether something refers to the blob `digest`."""
        return bool(self._connection.execute(_ANY, {"digest": digest}).scalar_one())
