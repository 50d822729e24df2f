"""A database moves to another place: all rows are copied, and compared by digests before the old place is abandoned."""

from collections.abc import Generator

from sqlalchemy import func, insert, select

from app.domain.errors import DatabaseUnusable
from app.store.copying import copy_rows, digest_tables
from app.store.tables import identity, metadata
from app.store.unit_of_work import StoreDatabase


def transfer(source: StoreDatabase, target: StoreDatabase) -> Generator[tuple[str, int]]:
    """Copy all rows to an empty database, or go on with a copy that was stopped.

    No other process uses the two. Yields the name of each table as its rows arrive, with their number so far; what is
    copied is compared at the end. DatabaseUnusable if the target holds anything else, the source is of no data
    directory, or the copy differs.
    """
    _claim(source, target)
    with source.transaction(read_only=True) as connection:
        yield from copy_rows(connection, target.transaction)
        with target.transaction(read_only=True) as copied:
            present, expected = digest_tables(copied), digest_tables(connection)
    different = sorted(name for name in expected if present[name] != expected[name])
    if different:
        raise DatabaseUnusable(
            f"the copy differs from the database in {', '.join(different)}: it was changed after an earlier copy had "
            "begun; empty the target (drop its schema and create it again), then repeat the command"
        )


def _claim(source: StoreDatabase, target: StoreDatabase) -> None:
    """Write the identity of the source into the target before anything else: it says whose copy this is."""
    with source.transaction(read_only=True) as connection:
        own = connection.execute(select(identity.c.id)).scalar()
    if own is None:
        raise DatabaseUnusable("the database has no identity yet; start its server once, then repeat the command")
    with target.transaction() as connection:
        found = connection.execute(select(identity.c.id)).scalar()
        if found == own:
            return
        counts = (connection.execute(select(func.count()).select_from(table)) for table in metadata.sorted_tables)
        if any(count.scalar_one() for count in counts):
            raise DatabaseUnusable(
                "the target holds the data of another data directory; name an empty database in ADJOINT_DATABASE_URL"
            )
        connection.execute(insert(identity), {"id": own})
